#!/usr/bin/env bash
# When too few nodes come, the job ends on all of them, and says how many there are and how many it needs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
# All that are there at all have come by then, also on a busy machine.
seconds=15
for host in h1 h2; do
  start_on "$host" "$host" --nnodes 3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf "join_timeout=$seconds" --no-python true
done
for host in h1 h2; do
  node "$host" ends 75
  node "$host" says err "waited $seconds s for nodes: 2 there, 3 needed"
done

# When nodes are lost, the others wait as long for them to come back, and at the same coordinator: that is
# longer than a heartbeat timeout.
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf "join_timeout=$seconds,heartbeat_timeout=5" --no-python sh "$worker"
done
wait_for_world h1 h2 h3
kill -KILL "${agents[h3]}"
for host in h1 h2; do
  node "$host" ends 75
  node "$host" says err "2 there, 3 needed (node h3 lost"
  node "$host" says_not err "lost the coordinator"
done
nothing_on h1
