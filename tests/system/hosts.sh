# shellcheck shell=bash
# Several machines in one. A test that runs a job on several nodes sources this file after lib.sh.
#
# The hosts h1, h2, ... are network namespaces with a name and an address of their own, on a bridge
# that lies in one more namespace. Nothing of them shows outside, so that any number of tests run side
# by side, and all of it is gone with the test, even with a killed one. Files and process ids are the
# machine's.
PATH=$PATH:/usr/sbin:/sbin

declare -A keepers # by host: the process that keeps its namespaces
declare -A agents  # by node: its ddprun
DDPRUN=$(realpath "$DDPRUN") # on a host, one is in the root directory
slow_link=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/slow_link.py
nodes=$scratch/nodes
mkdir "$nodes"

leave_no_host() {
  local host left scratch=${nodes%/*} # within node() it is another
  [ "$BASHPID" = $$ ] || return 0
  for host in "${!keepers[@]}"; do
    # This repeats until nothing is found: a process that was just being started is found the next time.
    while left=$(processes_on "$host") && [ -n "$left" ]; do
      xargs kill -KILL <<<"$left" 2>/dev/null || true
    done
    kill -KILL "${keepers[$host]}"
  done
  clean_up
}
trap leave_no_host EXIT

fail() {
  local file
  echo "FAILED: $*"
  for file in "$nodes"/*/out "$nodes"/*/err "${nodes%/*}"/*.sshd_log; do
    [ ! -s "$file" ] || { echo "--- ${file#"${nodes%/*}/"}" && tail -n 30 "$file"; }
  done
  exit 1
}

# need_hosts N [ipv6]: makes h1 to hN with the addresses 10.77.0.1 to N, or fd77::1 to N as well.
need_hosts() {
  local i names=()
  [ "$(id -u)" = 0 ] || skip "only root can make hosts of network namespaces"
  for i in ip nsenter unshare setpriv; do
    [ -n "$(command -v "$i")" ] || skip "there is no $i (Debian: iproute2, util-linux)"
  done
  unshare --net --uts --mount true 2>"$scratch/why" ||
    skip "no namespaces can be made here: $(cat "$scratch/why")"
  if [ "${2:-}" = ipv6 ] && [ ! -e /proc/sys/net/ipv6 ]; then skip "this kernel has no IPv6"; fi

  echo "127.0.0.1 localhost" >"$scratch/etc_hosts"
  for ((i = 1; i <= $1; i++)); do
    names+=("h$i")
    echo "10.77.0.$i h$i" >>"$scratch/etc_hosts"
  done
  echo "hosts: files" >"$scratch/nsswitch.conf" # nobody waits for a name server
  mkfifo "$scratch/kept"
  keep hub
  on hub ip link add bridge up type bridge 2>"$scratch/why" ||
    skip "this kernel has no bridges: $(cat "$scratch/why")"
  for ((i = 1; i <= $1; i++)); do join_bridge "${names[i - 1]}" "$i" "${2:-}"; done
  exec 7<>"${ready:?}"
  write_worker
  watch_the_clock
}

# ctest kills a test after 10 minutes. Before that, the test tells what has happened on the nodes.
watch_the_clock() {
  trap 'fail "this takes too long"' TERM
  mkfifo "$scratch/never"
  # shellcheck disable=SC2016
  setpriv --pdeathsig KILL bash -c 'read -r -t "$3" _ <>"$1"; kill -TERM "$2"' \
    bash "$scratch/never" $$ "${seconds_left:-540}" &
  disown $!
}

# keep HOST: starts a process in fresh namespaces. They end with it, and it ends with this shell.
keep() { # HOST
  # shellcheck disable=SC2016
  setpriv --pdeathsig KILL unshare --net --uts --mount sh -c '
    echo "$1" >/proc/sys/kernel/hostname
    mount --bind "$2/etc_hosts" /etc/hosts
    mount --bind "$2/nsswitch.conf" /etc/nsswitch.conf
    echo kept >"$2/kept"
    exec sleep infinity' sh "$1" "$scratch" </dev/null >/dev/null 2>"$scratch/why" &
  keepers[$1]=$!
  disown $!
  read -r -t 60 _ <>"$scratch/kept" || fail "no namespaces for $1: $(cat "$scratch/why")"
}

join_bridge() { # HOST NUMBER [ipv6]
  keep "$1"
  on hub ip link add "$1" up master bridge type veth peer name eth0 netns "${keepers[$1]}"
  on "$1" ip link set lo up
  on "$1" ip address add "10.77.0.$2/24" dev eth0
  if [ "$3" = ipv6 ]; then
    # shellcheck disable=SC2016
    on "$1" sh -c 'for f in all default eth0 lo; do echo 0 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done'
    on "$1" ip address add "fd77::$2/64" dev eth0 nodad
  fi
  on "$1" ip link set eth0 up
}

# --- What happens on a host, and to it.

on() { (exec_on "$@"); } # HOST COMMAND...
exec_on() { exec nsenter --target "${keepers[$1]}" --net --uts --mount -- "${@:2}"; }

processes_on() { # HOST
  local process
  for process in /proc/[0-9]*; do
    if [ "$process/ns/net" -ef "/proc/${keepers[$1]}/ns/net" ] &&
      [ "${process#/proc/}" != "${keepers[$1]}" ]; then
      echo "${process#/proc/}"
    fi
  done
}

# nothing_on HOST: waits until no process is left there.
nothing_on() {
  local process
  for process in $(processes_on "$1"); do gone "$process"; done
}

# cut_off HOST: whatever it sends or is sent vanishes, as with a pulled cable further away.
cut_off() { on hub ip link set "$1" nomaster; }
heal() { on hub ip link set "$1" master bridge; }

# slow HOST MS: every packet from and to it takes that much longer.
slow() {
  [ -n "$(command -v python3)" ] || skip "there is no python3 to delay packets"
  on hub ip link set "$1" nomaster
  on hub ip link add "$1-near" up type veth peer name "$1-far"
  on hub ip link set "$1-far" up master bridge
  exec_on hub python3 "$slow_link" "$1" "$1-near" "$2" "$scratch/kept" </dev/null &
  disown $!
  read -r -t 60 _ <>"$scratch/kept" || fail "packets of $1 cannot be delayed"
}

# freeze HOST: all on it stops, as on a machine that hangs; thaw HOST: it goes on.
freeze() {
  local found='' stopped=none
  until [ "$found" = "$stopped" ]; do # what was just being started is found the second time
    stopped=$found
    found=$(processes_on "$1")
    xargs kill -STOP <<<"$found" || true # one may be gone again
  done
}
thaw() { processes_on "$1" | xargs kill -CONT 2>/dev/null || true; }

# --- ddprun on a host.

# start_on HOST NAME ARGUMENTS...: runs ddprun there, in the background.
start_on() {
  mkdir -p "$nodes/$2"
  : >"$nodes/$2/out"
  : >"$nodes/$2/err"
  exec_on "$1" "$DDPRUN" "${@:3}" >"$nodes/$2/out" 2>"$nodes/$2/err" </dev/null &
  agents[$2]=$!
  while [ -e "/proc/$!/exe" ] && ! [ "/proc/$!/exe" -ef "$DDPRUN" ]; do :; done
}

# node NAME WORD...: a word of lib.sh about that ddprun, such as `node h2 ends 0` or `node h2 says err TEXT`.
node() {
  # shellcheck disable=SC2034
  local scratch=$nodes/$1 pid=${agents[$1]}
  "${@:2}"
}

# end_well NAME...: waits for those, which must end with code 0.
end_well() {
  local name
  for name; do node "$name" ends 0; done
}

# has_joined HOST: waits until the coordinator has answered the agent there.
has_joined() { until_true 60 "$1 to join" receives_bytes "$1"; }
receives_bytes() { grep -q bytes_received < <(on "$1" ss -Htin state established); }

# --- The workers: sh "$worker" says where it runs and works until it is let go; then it exits with 0,
# or with $code.

declare -a worker_hosts worker_pids # of the world that wait_for_world has seen, by rank
worker=$scratch/worker.sh

write_worker() {
  cat >"$worker" <<'SH'
trap 'exit "${code:-0}"' USR1
sleep 1000 >/dev/null 2>&1 &
echo "$(uname -n) $RANK $WORLD_SIZE $$" >"$ready"
wait
SH
}

# wait_for_world HOST...: until the workers of all ranks run on these hosts, as many as named, in any
# order. Worlds on the way there may be others.
wait_for_world() {
  local host rank size pid expected
  expected=$(printf '%s\n' "$@" | sort)
  worker_hosts=() worker_pids=()
  while read -r -t 60 -u 7 host rank size pid; do
    [ "$size" = $# ] || continue
    worker_hosts[rank]=$host worker_pids[rank]=$pid
    [ "$(printf '%s\n' "${worker_hosts[@]}" | sort)" = "$expected" ] || continue
    if are_alive "${worker_pids[@]}"; then return; fi
  done
  fail "60 s went by without a word of a worker, and there is no world of workers on $*: there are" \
    "${worker_hosts[*]}"
}
are_alive() {
  local pid
  for pid; do [ -e "/proc/$pid" ] || return 1; done
}

# pid_on HOST: prints the process id of the first worker there.
pid_on() {
  local rank
  for rank in "${!worker_hosts[@]}"; do
    if [ "${worker_hosts[rank]}" = "$1" ]; then
      echo "${worker_pids[rank]}"
      return
    fi
  done
  fail "no worker is on $1"
}

let_go() { kill -USR1 "${worker_pids[@]}"; }
