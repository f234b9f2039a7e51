#!/usr/bin/env bash
# Several containers that share their host's network are several nodes, in whatever order they are started:
# they have one address and one host name, each has processes of its own, and their agents one process id.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/etcd.sh"

need_hosts 2
inside=(unshare --pid --ipc --mount --fork --kill-child --mount-proc)
on h1 "${inside[@]}" true 2>"$scratch/why" || skip "no container can be made here: $(cat "$scratch/why")"

# A worker's process id means nothing outside of its container, so workers are let go by a line each.
go=$scratch/go
mkfifo "$go"
export go
exec 8<>"$go"
cat >"$worker" <<'SH'
echo "$(uname -n) $RANK $WORLD_SIZE $$" >"$ready"
read -r _ <"$go"
SH
let_go() { printf '%*s' "$1" '' | tr ' ' '\n' >&8; } # WORKERS

# start_container NAME ARGUMENTS...: what it has in its folder for temporary files is its own, too.
start_container() {
  mkdir -p "$nodes/$1/tmp"
  : >"$nodes/$1/out" # now, not when the background job comes to it: nobody may read an old one
  : >"$nodes/$1/err"
  TMPDIR=$nodes/$1/tmp exec_on h1 "${inside[@]}" "$DDPRUN" "${@:2}" \
    >"$nodes/$1/out" 2>"$nodes/$1/err" </dev/null &
  agents[$1]=$!
  while [ "/proc/$!/exe" -ef "/proc/$$/exe" ]; do :; done # until then its files may be emptied again
}

# wait_for_ranks SIZE: until a worker of each rank has said that it runs in a world of that size.
wait_for_ranks() {
  local host rank size pid
  local -A ranks=()
  while [ ${#ranks[@]} -lt "$1" ]; do
    read -r -t 60 -u 7 host rank size pid ||
      fail "60 s went by, and of $1 ranks only these run: ${!ranks[*]}"
    [ "$host" = h1 ] || fail "rank $rank (process $pid) runs on $host"
    [ "$size" != "$1" ] || ranks[$rank]=yes
  done
}

# form_world OPTIONS RANK...: the containers start in that order, each when the one before has decided
# where the coordinator is, and form one job.
export LOGLEVEL=INFO
form_world() {
  local rank
  for rank in "${@:2}"; do
    # shellcheck disable=SC2046 # a list
    start_container "r$rank" --nnodes $(($# - 1)) $("$1" "$rank") --no-python sh "$worker"
    node "r$rank" wait_for_message '^ddprun: (coordinator: |etcd at )'
  done
  wait_for_ranks $(($# - 1))
  let_go $(($# - 1))
  for rank in "${@:2}"; do node "r$rank" ends 0; done
  nothing_on h1
}
static() { echo "--node-rank $1 --master-addr 127.0.0.1 --master-port 29400"; }
by_host_name() { echo "--node-rank $1 --master-addr h1 --master-port 29400"; }
nobody_told() { echo "--rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job"; }
told_who_hosts() {
  local is_host=false
  [ "$1" != 0 ] || is_host=true
  echo "$(nobody_told) --rdzv-conf is_host=$is_host"
}

for options in static by_host_name nobody_told told_who_hosts; do
  form_world "$options" 0 1 2
  form_world "$options" 1 2 0
  form_world "$options" 2 0 1
done
form_world static 5 4 3 2 1 0

# With an etcd on another host any of them may be chosen.
if [ -n "$(command -v etcd)" ] && [ -n "$(command -v etcdctl)" ]; then
  start_etcd h2
  by_etcd() { echo "--rdzv-backend etcd-v2 --rdzv-endpoint h2:2379 --rdzv-id job"; }
  form_world by_etcd 0 1 2
  form_world by_etcd 5 4 3 2 1 0
fi

# They go on when one of them is killed with all that is in it, be it the coordinator's.
for lost in b a; do
  for name in a b c; do
    # shellcheck disable=SC2046 # a list
    start_container "$name" --nnodes 1:3 $(nobody_told) --no-python sh "$worker"
    node "$name" wait_for_message '^ddprun: (coordinator: |etcd at )'
    [ "$name" != a ] || has_joined h1
  done
  wait_for_ranks 3
  kill -KILL "${agents[$lost]}"
  node "$lost" ends 137
  wait_for_ranks 2
  let_go 2
  for name in a b c; do [ "$name" = "$lost" ] || node "$name" ends 0; done
  nothing_on h1
done
