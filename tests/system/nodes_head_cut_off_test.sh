#!/usr/bin/env bash
# The node that coordinates the job is cut off, then one that hangs. More than half of the nodes go on
# without it, and no worker of it is alive when they begin. It joins them when it can.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 1:3 --max-restarts 0 --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job --shutdown-timeout 60 \
    --rdzv-conf keep_alive_interval=0.4,keep_alive_max_attempt=5 --no-python sh "$worker"
done
wait_for_world h1 h2 h3
old=$(pid_on h1)
cut_off h1
wait_for_world h2 h3
[ ! -e "/proc/$old" ] || fail "a worker of the old world is alive in the new one"
heal h1
wait_for_world h1 h2 h3

freeze h2
wait_for_world h1 h3
thaw h2
wait_for_world h1 h2 h3
let_go
for host in h1 h2 h3; do node "$host" ends 0; done
for host in h1 h2 h3; do node "$host" says_not err "restart 1 of"; done
