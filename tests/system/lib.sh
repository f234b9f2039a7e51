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

# fail WHAT: ends the test; the message and what ddprun has written explain it.
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

# need_torch: from here on workers run by the Python that has PyTorch, which is $python. It may have another
# version than the worker SDK was built with: scripts/test --torch.
need_torch() {
  DDPRUN_TORCH_ENV=${DDPRUN_WORKERS_TORCH_ENV:-${DDPRUN_TORCH_ENV:-}}
  need_sdk_torch
}

# need_sdk_torch: the same with the PyTorch that the worker SDK was built with.
need_sdk_torch() {
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

# says STREAM TEXT: fails unless the stream (out or err) has TEXT in it, word for word.
says() { grep -qF -- "$2" "$scratch/$1" || fail "'$2' is not in std$1"; }
says_not() { ! grep -qF -- "$2" "$scratch/$1" || fail "'$2' is in std$1"; }

# --- Processes are waited for by two named pipes, and no clock.
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
  local i
  for ((i = 0; i < $1; i++)); do
    read -r -t 60 -u 7 _ || fail "$i of $1 workers were ready, and for 60 s there was no other"
  done
}
all_dead() {
  timeout 60 tail -s 0.02 --pid="$lives" -f /dev/null ||
    fail "60 s later, these still have the pipe of the workers open: $(holders_of "$alive")"
}

# holders_of FILE: prints the processes that have it open, with their command lines.
holders_of() {
  local link
  for link in /proc/[0-9]*/fd/*; do
    if [ "$link" -ef "$1" ]; then
      echo "${link%/fd/*}: $(tr '\0' ' ' <"${link%/fd/*}/cmdline")"
    fi
  done 2>/dev/null | sort -u
}

# gone PID: waits for its end.
gone() {
  timeout 60 tail -s 0.02 --pid="$1" -f /dev/null ||
    fail "process $1 is still alive after 60 s: $(tr '\0' ' ' <"/proc/$1/cmdline")"
}

# mark_processes, before workers start: no_process_left WHAT finds those of this test's jobs, wherever
# they have moved to.
mark_processes() { export TEST_MARK=$scratch; }
no_process_left() {
  local process
  # One grep for all processes: hundreds of them would take longer than what is tested.
  while read -r process; do
    if grep -qz '^DDPRUN_JOB=' "$process" 2>/dev/null; then
      fail "$1: ${process%/environ} is alive: $(tr '\0' ' ' <"${process%environ}cmdline")"
    fi
  done < <(grep -lzxF "TEST_MARK=$scratch" /proc/[0-9]*/environ 2>/dev/null)
}

# memory_counts: whether the memory that ddprun takes is its own, and not a sanitizer's.
memory_counts() { ! grep -qaE "__[at]san_init" "$DDPRUN"; }

# threads_may_be_left: to be called where a disk or a server may hold a thread of ddprun's at its end. LeakSanitizer
# stops all threads there, and would wait for that one.
threads_may_be_left() { export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0; }

# is_for_races: whether ddprun was built with ThreadSanitizer. That writes a file in TMPDIR before main(), which is left
# where the program is killed; and no thread has a table of files of its own then.
is_for_races() { grep -qa "__tsan_init" "$DDPRUN"; }

# nothing_left: fails unless ddprun has removed its temporary files.
nothing_left() {
  [ -z "$(ls -A -I 'tsan.rodata.*' "$TMPDIR")" ] || fail "left in the temporary directory: $(ls -A "$TMPDIR")"
}

# wait_for_line REGEX: until what start() started has written such a line. wait_for_message REGEX is the
# same on stderr.
wait_for_line() { wait_for_text out "$1"; }
wait_for_message() { wait_for_text err "$1"; }
wait_for_text() { # STREAM REGEX
  local code=0
  timeout 120 grep -qE -m 1 -- "$2" < <(tail -n +1 -f --pid="$pid" "$scratch/$1" 2>/dev/null) || code=$?
  case $code in
    0) ;;
    124) fail "120 s went by without a line like '$2' in std$1" ;;
    *) fail "ddprun has ended without a line like '$2' in std$1" ;;
  esac
}

# until_true SECONDS WHAT COMMAND...: until the command succeeds, for what nothing announces.
until_true() {
  local deadline=$((SECONDS + $1))
  until "${@:3}" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || fail "waited $1 s for $2"
    sleep 0.1
  done
}

# own_port: prints a port of this machine that nobody uses. Linux gives ports from 32768 on to programs that
# take any, so that this one is still free when a program of the test wants it.
own_port() {
  local port
  while port=$((20000 + RANDOM % 12000)) && (: <>"/dev/tcp/127.0.0.1/$port"); do :; done 2>/dev/null
  echo "$port"
}

# worker_pid RANK: prints the process id of the worker of that rank.
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
