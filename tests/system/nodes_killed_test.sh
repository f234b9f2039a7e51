#!/usr/bin/env bash
# An agent that is killed takes its workers with it, and the other nodes go on without it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
for host in h1 h2 h3 h4; do
  start_on "$host" "$host" --nnodes 2:4 --max-restarts 3 --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job --no-python sh "$worker"
done
wait_for_world h1 h2 h3 h4
kill -KILL "${agents[h3]}"
node h3 ends 137
wait_for_world h1 h2 h4
nothing_on h3

# As often as MIN allows, and it does not count as a restart.
kill -KILL "${agents[h2]}"
node h2 ends 137
wait_for_world h1 h4
nothing_on h2
let_go
for host in h1 h4; do
  node "$host" ends 0
  node "$host" says err "node h3 lost"
  node "$host" says err "node h2 lost"
  node "$host" says_not err "restart 1 of"
done
