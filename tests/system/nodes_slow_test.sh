#!/usr/bin/env bash
# A node behind a slow link takes part like the others.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
slow h3 200
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --max-restarts 1 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
    --rdzv-id job --rdzv-conf keep_alive_interval=1,keep_alive_max_attempt=5 \
    --no-python sh "$worker"
done
wait_for_world h1 h2 h3
kill -KILL "$(pid_on h3)"
wait_for_world h1 h2 h3
sleep 6 # longer than the silence that is allowed: this one behaviour is about time
let_go
for host in h1 h2 h3; do
  node "$host" ends 0
  node "$host" says err "restart 1 of 1"
  node "$host" says_not err "lost"
done
