#!/usr/bin/env bash
# Several agents on one machine are several nodes. The one that has to host the coordinator gets the
# endpoint's port, in whatever order the agents are started.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 1
for name in a b c; do
  start_on h1 "$name" --nnodes 3 --nproc-per-node 2 --rdzv-backend c10d \
    --rdzv-endpoint localhost:29400 --rdzv-id job --no-python sh "$worker"
done
wait_for_world h1 h1 h1 h1 h1 h1
let_go
for name in a b c; do node "$name" ends 0; done

# They go on when one of those that host nothing is killed.
for name in a b c; do
  start_on h1 "$name" --nnodes 1:3 --rdzv-backend c10d --rdzv-endpoint localhost:29400 \
    --rdzv-id job --no-python sh "$worker"
  [ "$name" != a ] || has_joined h1
done
wait_for_world h1 h1 h1
kill -KILL "${agents[b]}"
node b ends 137
wait_for_world h1 h1
let_go
for name in a c; do node "$name" ends 0; done
nothing_on h1

# form_world OPTIONS RANK...: the agents start in that order, each when the one before has
# decided where the coordinator is, and form one job.
export LOGLEVEL=INFO
form_world() { # OPTIONS RANK...
  local rank hosts=()
  for rank in "${@:2}"; do
    # shellcheck disable=SC2046 # a list
    start_on h1 "r$rank" $("$1" "$rank") --nnodes $(($# - 1)) --no-python sh "$worker"
    node "r$rank" wait_for_message '^ddprun: coordinator: '
    hosts+=(h1)
  done
  wait_for_world "${hosts[@]}"
  let_go
  for rank in "${@:2}"; do node "r$rank" ends 0; done
  nothing_on h1
}
static() { echo "--node-rank $1 --master-addr 127.0.0.1 --master-port 29400"; }
launched() { echo "launch --use-env $(static "$1")"; } # as python -m torch.distributed.launch
by_own_address() { echo "--node-rank $1 --master-addr 10.77.0.1 --master-port 29400"; }
by_name() { echo "--node-rank $1 --master-addr h1 --master-port 29400"; }
told_who_hosts() {
  local is_host=false
  [ "$1" != 0 ] || is_host=true
  echo "--rdzv-backend c10d --rdzv-endpoint localhost:29400 --rdzv-id job" \
    "--rdzv-conf is_host=$is_host"
}

for options in static launched by_own_address by_name told_who_hosts; do
  form_world "$options" 1 2 0
  form_world "$options" 2 0 1
done
form_world static 7 6 5 4 3 2 1 0
