#!/usr/bin/env bash
# A job of three nodes, no fewer, loses the one that coordinates it. The others stop their workers and
# wait for another node, as they do when any node is lost; when none comes, all end alike.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
start_one() {
  start_on "$1" "$1" --nnodes 3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf join_timeout=30,keep_alive_interval=0.4,keep_alive_max_attempt=5 --no-python \
    sh "$worker"
}
for host in h1 h2 h3; do start_one "$host"; done
wait_for_world h1 h2 h3
kill -KILL "${agents[h1]}"
node h1 ends 137
for host in h2 h3; do gone "$(pid_on "$host")"; done
for host in h2 h3; do
  node "$host" ends 75
  node "$host" says err "lost the coordinator"
  node "$host" says err "2 there, 3 needed"
  nothing_on "$host"
done
