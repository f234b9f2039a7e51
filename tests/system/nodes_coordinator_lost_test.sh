#!/usr/bin/env bash
# Without the coordinator the other nodes stop their workers and end, and say what they have lost.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf keep_alive_interval=0.4,keep_alive_max_attempt=5 --no-python sh "$worker"
done
wait_for_world h1 h2 h3
kill -KILL "${agents[h1]}"
node h1 ends 137
for host in h2 h3; do
  node "$host" ends 69
  node "$host" says err "lost the coordinator"
  nothing_on "$host"
done
