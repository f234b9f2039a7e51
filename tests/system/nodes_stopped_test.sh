#!/usr/bin/env bash
# A node that gets a stop signal leaves in order, and the others go on without it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 2:3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --no-python sh "$worker"
done
wait_for_world h1 h2 h3
kill -TERM "${agents[h2]}"
node h2 ends 143
nothing_on h2
wait_for_world h1 h3
let_go
for host in h1 h3; do
  node "$host" ends 0
  node "$host" says err "node h2 lost: stopped by SIGTERM"
done
nothing_left
