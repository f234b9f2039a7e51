#!/usr/bin/env bash
# A job that fails ends on all nodes, as the first worker that failed did, and all nodes name it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --nproc-per-node 2 --max-restarts 1 --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job --no-python sh -c \
    'code=$((RANK * 3)); trap "echo no memory left >&2" EXIT; . "$0"' "$worker"
done
wait_for_world h1 h1 h2 h2 h3 h3
kill -KILL "${worker_pids[4]}"
wait_for_world h1 h1 h2 h2 h3 h3
kill -USR1 "${worker_pids[3]}"
for host in h1 h2 h3; do
  node "$host" ends 9
  node "$host" says err "the job failed: rank 3 on h2 exited with code 9: no memory left"
  node "$host" says err "  process: local rank 1, pid ${worker_pids[3]}"
  node "$host" says err "  restarts: 1 of 1"
  nothing_on "$host"
done
