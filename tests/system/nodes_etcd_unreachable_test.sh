#!/usr/bin/env bash
# While all nodes are there, a job needs no etcd: it is cut off for many times as long as leases last, and
# no worker ends. When it is back, and the coordinator is killed, the other node goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/etcd.sh"
need_etcd

need_hosts 3
start_etcd h3
for host in h1 h2; do
  start_on "$host" "$host" --nnodes 1:2 --max-restarts 0 --rdzv-backend etcd --rdzv-endpoint h3:2379 \
    --rdzv-id job --rdzv-conf heartbeat_timeout=3,last_call_timeout=60 --no-python sh "$worker"
done
wait_for_world h1 h2
first=$(coordinator_by h3)

cut_off h3
sleep 20 # nothing is to happen meanwhile
are_alive "${worker_pids[@]}" || fail "workers have ended because etcd is not there"
node "$first" wait_for_message "etcd at h3:2379: no answer; trying again"
heal h3
until_true 60 "the coordinator to have its key again" has_coordinator h3
node "$first" wait_for_message "etcd answers again"
are_alive "${worker_pids[@]}" || fail "workers have ended because etcd is back"
[ "$(coordinator_by h3)" = "$first" ] || fail "another node coordinates now: $(coordinator_by h3)"

last=h1
[ "$first" = h2 ] || last=h2
kill -KILL "${agents[$first]}"
node "$first" ends 137
wait_for_world "$last"
let_go
node "$last" ends 0
node "$last" says_not err "restart 1 of"
