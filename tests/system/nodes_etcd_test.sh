#!/usr/bin/env bash
# An etcd of one member chooses the coordinator. A job of two nodes goes on with one of them, whichever
# it is that is lost, and takes another one in. It needs no majority and no list of hosts.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/etcd.sh"
need_etcd

need_hosts 3
start_etcd h3
begin() { # HOST NAME
  start_on "$1" "$2" --nnodes 1:2 --max-restarts 0 --rdzv-backend etcd-v2 --rdzv-endpoint h3:2379 \
    --rdzv-id job --rdzv-conf heartbeat_timeout=2,last_call_timeout=60 --no-python sh "$worker"
}
begin h1 h1
until_true 60 "a node to be chosen" has_coordinator h3
[ "$(coordinator_by h3)" = h1 ] || fail "etcd names $(coordinator_by h3) as the coordinator's host"
begin h2 h2
wait_for_world h1 h2

# The one that coordinates is killed, with its workers.
kill -KILL "${agents[h1]}"
node h1 ends 137
nothing_on h1
wait_for_world h2
[ "$(coordinator_by h3)" = h2 ] || fail "etcd names $(coordinator_by h3) as the coordinator's host"

# A new agent finds the other one, and then that one is killed.
begin h1 again
wait_for_world h1 h2
kill -KILL "${agents[h2]}"
node h2 ends 137
wait_for_world h1
let_go
node again ends 0
node again says err "lost the coordinator"
node again says_not err "restart 1 of"

# When the job has ended, the next one of the same name begins.
until_true 60 "the key to be given back" has_no_coordinator h3
begin h1 next
begin h2 other
wait_for_world h1 h2
let_go
node next ends 0
node other ends 0
