#!/usr/bin/env bash
# A job names several hosts at which its coordinator may be. Nodes find it there whichever of them it is
# at, also those that come after the first one was lost. A first one that is started again begins no
# second job, although one node would be enough for that.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
join() { # HOST [NAME]
  start_on "$1" "${2:-$1}" --nnodes 1:4 --max-restarts 0 --rdzv-backend c10d --rdzv-id job \
    --rdzv-endpoint h1:29400,h2:29400,h3:29400 --rdzv-conf "last_call_timeout=${last_call:-30}" \
    --no-python sh "$worker"
}
join h2 # which waits for the first place, although it could run alone
node h2 wait_for_message "nobody coordinates the job: .*h1:29400: Connection refused"
node h2 says err "h2:29400: Connection refused" # a first place would want the port if it were here
for host in h1 h3 h4; do join "$host"; done
wait_for_world h1 h2 h3 h4

kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2 h3 h4
nothing_on h1
last_call=0 # it would begin at once
join h1 again
wait_for_world h1 h2 h3 h4
node again says err "the coordinator is at"
kill -KILL "${agents[h2]}"
node h2 ends 137
wait_for_world h1 h3 h4
nothing_on h2
join h2 too
wait_for_world h1 h2 h3 h4
let_go
for name in again too h3 h4; do node "$name" ends 0; done
for name in again too h3 h4; do node "$name" says_not err "restart 1 of"; done
