#!/usr/bin/env bash
# Of two nodes the one that coordinates is killed. With --on-head-lost trust-closed the other one goes on,
# because connections are refused where the first one was. Without it, and where the first one is only
# cut off, it does not.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 2
join() { # HOST OPTIONS...
  start_on "$1" "$1" --nnodes 1:2 --max-restarts 0 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
    --rdzv-id job --rdzv-conf heartbeat_timeout=2 "${@:2}" --no-python sh "$worker"
}
for host in h1 h2; do join "$host" --on-head-lost trust-closed; done
wait_for_world h1 h2
old=$(pid_on h2)
cut_off h1
wait_for_world h1 # which has its own vote, and that is half
[ ! -e "/proc/$old" ] || fail "a worker of the old world is alive in the new one"
heal h1
wait_for_world h1 h2

kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2
nothing_on h1
let_go
node h2 ends 0
node h2 says_not err "restart 1 of"

for host in h1 h2; do join "$host"; done
wait_for_world h1 h2
kill -KILL "${agents[h1]}"
node h1 ends 137
node h2 ends 69
node h2 says err "--on-head-lost trust-closed lets the job go on"
