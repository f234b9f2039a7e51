#!/usr/bin/env bash
# An etcd of three members chooses the coordinator. One member is killed, and the job does not notice.
# Then the coordinator is killed, and the one that has followed it is cut off: its workers are dead
# before the others begin again. When it is healed, it joins as a node.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/etcd.sh"
need_etcd

need_hosts 6
start_etcd h4 h5 h6
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 1:3 --max-restarts 0 --rdzv-backend etcd \
    --rdzv-endpoint h4:2379,h5:2379,h6:2379 --rdzv-id job \
    --rdzv-conf heartbeat_timeout=2,last_call_timeout=60 --no-python sh "$worker"
done
wait_for_world h1 h2 h3

kill -KILL "${etcds[h4]}"
nothing_on h4
sleep 5 # longer than leases last: nothing is to happen meanwhile
are_alive "${worker_pids[@]}" || fail "workers have ended with a member of etcd"
first=$(coordinator_by h5)
[ -n "$first" ] || fail "there is no coordinator without h4"

kill -KILL "${agents[$first]}"
node "$first" ends 137
left=()
for host in h1 h2 h3; do [ "$host" = "$first" ] || left+=("$host"); done
wait_for_world "${left[@]}"

second=$(coordinator_by h5)
[ "$second" != "$first" ] || fail "etcd still names the killed coordinator"
other=${left[0]}
[ "$other" != "$second" ] || other=${left[1]}
before=("${worker_pids[@]}")
cut_off "$second"
wait_for_world "$other"
for process in "${before[@]}"; do
  [ ! -e "/proc/$process" ] || fail "a worker of the world before is alive beside the new one"
done
heal "$second"
wait_for_world "${left[@]}"
let_go
for host in "${left[@]}"; do
  node "$host" ends 0
  node "$host" says_not err "restart 1 of"
done
