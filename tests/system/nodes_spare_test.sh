#!/usr/bin/env bash
# A node that comes when the job is full waits, and takes the place of the next node that is lost.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
join() {
  start_on "$1" "$1" --nnodes 2:3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --no-python sh "$worker"
}
for host in h1 h2 h3; do join "$host"; done
wait_for_world h1 h2 h3
join h4
node h4 wait_for_message "round 1 has its 3 nodes: this one waits as a spare"
kill -KILL "${agents[h2]}"
wait_for_world h1 h3 h4
[ "${worker_hosts[*]}" = "h1 h4 h3" ] || fail "ranks are on ${worker_hosts[*]}: h4 has not those of h2"
let_go
for host in h1 h3 h4; do node "$host" ends 0; done
node h1 says err "node h2 lost"
node h1 says_not err "node h4 joined"
