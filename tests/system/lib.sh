# shellcheck shell=bash
# The words of the system tests. A test sources this file with the path of ddprun as its argument:
#     . "$(dirname "$0")/lib.sh"
set -euo pipefail
set -m # a background job of a shell without job control ignores SIGINT, and so would ddprun

DDPRUN=${1:?usage: $0 PATH_OF_DDPRUN}
scratch=$(mktemp -d)
export TMPDIR=$scratch/tmp # what ddprun leaves behind shows here
mkdir "$TMPDIR"

clean_up() {
  [ "$BASHPID" = $$ ] || return 0 # a child that a signal met before it became ddprun
  jobs -p | xargs -r kill -KILL -- 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT

fail() {
  echo "FAILED: $*"
  for stream in out err; do
    [ ! -s "$scratch/$stream" ] || { echo "--- $stream"; tail -n 50 "$scratch/$stream"; }
  done
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

# need_torch: from here on workers run by the Python that has PyTorch, which is $python.
need_torch() {
  python=${DDPRUN_TORCH_ENV:-}/bin/python
  [ -x "$python" ] || skip "no PyTorch: DDPRUN_TORCH_ENV names no virtual environment"
  export PYTHON_EXEC=$python
}

# run CODE ARGUMENTS...: runs ddprun to its end, which must have that exit code. Its output is in
# $scratch/out and $scratch/err.
run() {
  local expected=$1 code=0
  shift
  "$DDPRUN" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: ddprun $*"
}

# start ARGUMENTS...: runs ddprun in the background; its pid is in $pid.
start() {
  : >"$scratch/out" # now, not when the background job comes to it: nobody may read an old one
  "$DDPRUN" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
  pid=$!
  # Until then it is a copy of this shell, which answers signals in its own way.
  while [ "/proc/$pid/exe" -ef "/proc/$$/exe" ]; do :; done
}

# ends CODE: waits for what start() started.
ends() {
  local code=0
  wait "$pid" || code=$?
  [ "$code" = "$1" ] || fail "exit code $code, expected $1"
}

# says STREAM TEXT: TEXT is in it, word for word.
says() { grep -qF -- "$2" "$scratch/$1" || fail "'$2' is not in std$1"; }
says_not() { ! grep -qF -- "$2" "$scratch/$1" || fail "'$2' is in std$1"; }

# --- Waiting for processes: no clock, two named pipes.
# Workers write a line to $ready when they run, and keep $alive open as long as they live.
ready=$scratch/ready
alive=$scratch/alive
mkfifo "$ready" "$alive"
export ready alive

# watch_lives: call it before workers start; all_dead waits until the last of them is gone.
watch_lives() {
  cat "$alive" >/dev/null &
  lives=$!
  exec 7<>"$ready"
}
wait_ready() { # N lines
  for ((i = 0; i < $1; i++)); do
    read -r -t 60 -u 7 _ || fail "worker $i of $1 did not start"
  done
}
all_dead() {
  timeout 60 tail --pid="$lives" -f /dev/null || fail "a worker is still alive"
}

# memory_counts: what ddprun takes is its own, not an address sanitizer's.
memory_counts() { ! grep -qa __asan_init "$DDPRUN"; }

# nothing_left: ddprun has removed its temporary files.
nothing_left() {
  [ -z "$(ls -A "$TMPDIR")" ] || fail "left in the temporary directory: $(ls -A "$TMPDIR")"
}

# wait_for_line REGEX: until what start() started has written such a line.
wait_for_line() {
  timeout 120 grep -qE -m 1 -- "$1" < <(tail -n +1 -f --pid="$pid" "$scratch/out" 2>/dev/null) ||
    fail "no line like '$1'"
}

# worker_pid RANK: the worker of that rank.
worker_pid() {
  local child
  for child in $(pgrep -P "$pid"); do
    if grep -qzx "RANK=$1" "/proc/$child/environ"; then
      echo "$child"
      return
    fi
  done
  fail "there is no worker of rank $1"
}
