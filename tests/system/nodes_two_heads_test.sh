#!/usr/bin/env bash
# The node that coordinates the job and the one that would follow it are killed at once. No process listens
# there any more, so the others know that both are gone, also when they had reached the second one already,
# and do not wait for their leases: the heartbeat timeout is longer than this test waits for a worker.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 5
for job in 1 2 3; do
  for host in h1 h2 h3 h4 h5; do
    start_on "$host" "$host" --nnodes 3:5 --max-restarts 0 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
      --rdzv-conf heartbeat_timeout=200 --rdzv-id "job$job" --no-python sh "$worker"
  done
  wait_for_world h1 h2 h3 h4 h5
  kill -KILL "${agents[h1]}" "${agents[h2]}"
  wait_for_world h3 h4 h5
  for host in h1 h2; do
    node "$host" ends 137
    nothing_on "$host"
  done
  let_go
  for host in h3 h4 h5; do
    node "$host" ends 0
    node "$host" says_not err "restart 1 of"
  done
done
