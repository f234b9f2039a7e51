#!/usr/bin/env bash
# A machine that hangs is given up when it was silent for long enough; when it wakes, it joins again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
for host in h1 h2 h3 h4; do
  start_on "$host" "$host" --nnodes 2:4 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf keep_alive_interval=0.4,keep_alive_max_attempt=5 --no-python sh "$worker"
done
wait_for_world h1 h2 h3 h4
old=$(pid_on h3)
freeze h3
wait_for_world h1 h2 h4
[ -e "/proc/$old" ] || fail "the worker on the machine that hangs is gone"
node h1 says err "node h3 lost: silent for 2 s"
thaw h3
wait_for_world h1 h2 h3 h4
[ ! -e "/proc/$old" ] || fail "the worker of an old round is alive"
let_go
for host in h1 h2 h3 h4; do node "$host" ends 0; done
