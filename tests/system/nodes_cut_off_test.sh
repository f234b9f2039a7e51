#!/usr/bin/env bash
# A node that is cut off stops its workers, for the others go on without it. Healed, it joins again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
for host in h1 h2 h3 h4; do
  start_on "$host" "$host" --nnodes 2:4 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf keep_alive_interval=0.4,keep_alive_max_attempt=5 --no-python sh "$worker"
done
wait_for_world h1 h2 h3 h4
old=$(pid_on h3)
cut_off h3
gone "$old"
wait_for_world h1 h2 h4
node h3 wait_for_message "lost the coordinator \(silent for 2 s\)"
heal h3
wait_for_world h1 h2 h3 h4
let_go
for host in h1 h2 h3 h4; do node "$host" ends 0; done
node h1 says err "node h3 lost"
node h1 says err "node h3 joined"
