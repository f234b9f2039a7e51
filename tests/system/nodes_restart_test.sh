#!/usr/bin/env bash
# A worker that fails on one node makes the workers of all nodes start again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --nproc-per-node 2 --max-restarts 2 --rdzv-backend c10d \
    --rdzv-endpoint h1 --rdzv-id job --no-python sh -c \
    'echo "attempt $TORCHELASTIC_RESTART_COUNT rank $RANK"; . "$0"' "$worker"
done
for victim in h3 h1; do
  wait_for_world h1 h1 h2 h2 h3 h3
  before=("${worker_pids[@]}")
  kill -KILL "$(pid_on "$victim")"
done
wait_for_world h1 h1 h2 h2 h3 h3
for pid in "${before[@]}"; do [ ! -e "/proc/$pid" ] || fail "a worker of the attempt before is alive"; done
[ "${worker_hosts[*]}" = "h1 h1 h2 h2 h3 h3" ] || fail "nodes have changed their ranks"
let_go
for host in h1 h2 h3; do
  node "$host" ends 0
  node "$host" says err "rank 4 was killed by SIGKILL (signal 9): stopping all workers"
  node "$host" says err "rank 0 was killed by SIGKILL (signal 9): stopping all workers"
  node "$host" says err "restart 2 of 2"
  node "$host" says out "attempt 2 rank"
done
nothing_left
