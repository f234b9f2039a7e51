#!/usr/bin/env bash
# Agent, fork server, midwife and workers are killed in every order: the job goes on or ends, and nobody is
# left over.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is too old"
unset PYTHON_EXEC VIRTUAL_ENV
mkdir "$scratch/lib"
export PYTHONPATH=$scratch/lib PYTHONDONTWRITEBYTECODE=1
echo 'importer = open("/proc/self/comm").read().strip()' >"$scratch/lib/good.py"

# Every worker has a helper in a session of its own. All of them keep $alive open.
cat >"$scratch/train.py" <<'PY'
import good
import os, subprocess, sys
alive = os.open(os.environ["alive"], os.O_WRONLY)
subprocess.Popen(["sleep", "1000"], start_new_session=True, pass_fds=[alive])
with open(os.environ["ready"], "w") as ready:
    ready.write(f"{os.environ['RANK']} {os.getpid()} {good.importer}\n")
if os.environ["TORCHELASTIC_RESTART_COUNT"] == os.environ.get("last_attempt"):
    sys.exit(0)
os.read(os.open(os.environ["never"], os.O_RDWR), 1)
PY
export never=$scratch/never
mkfifo "$never"

declare -a worker_pids importers
wait_for_workers() { # N
  local i rank
  for ((i = 0; i < $1; i++)); do
    read -r -t 60 -u 7 rank pid_of importer || fail "worker $i of $1 did not start"
    worker_pids[rank]=$pid_of importers[rank]=$importer
  done
}
forked() { # by the fork server, all of them
  [ "$(printf '%s\n' "${importers[@]}" | sort -u)" = "$1" ] || fail "imported by ${importers[*]}"
}
# ready_fork_server: sets $mother and $midwife. One that has its midwife has made its imports.
ready_fork_server() { until_true 60 "a fork server with a midwife" find_fork_server; }
find_fork_server() { mother=$(pgrep -P "$pid" -x dpr-nursery) && midwife=$(pgrep -P "$mother" -x dpr-midwife); }

# When a worker is killed, all are forked again.
watch_lives
exec 8>"$alive" # between two attempts nobody else has it open
last_attempt=3 start --warm --nproc-per-node 2 --max-restarts 9 "$scratch/train.py"
wait_for_workers 2
forked dpr-nursery
kill -KILL "${worker_pids[1]}"
wait_for_workers 2
forked dpr-nursery

# When the fork server is killed, its workers stay, and another fork server is there for the next attempt.
ready_fork_server
first=$mother
kill -KILL "$first"
gone "$first"
ready_fork_server
[ "$first" != "$mother" ] || fail "the fork server has survived"
for worker in "${worker_pids[@]}"; do [ -e "/proc/$worker" ] || fail "a worker has died with it"; done
kill -KILL "${worker_pids[0]}"
wait_for_workers 2
forked dpr-nursery
says err "--warm: the fork server was killed by SIGKILL (signal 9): starting another"

# A midwife takes the fork server with it, which is the same. When the workers are killed at the same time,
# new ones start, forked or not.
ready_fork_server
kill -KILL "$midwife" "${worker_pids[@]}"
wait_for_workers 2
ends 0
exec 8>&-
all_dead
# The job may end before anybody has seen that the fork server did.
grep -qE -e "--warm: (the fork server exited with code 1: starting another|a worker cannot be described to the fork server)" \
  "$scratch/err" || fail "nobody says that the fork server has gone"

# When the agent is killed, everybody goes, whether the fork server or a worker was dead before.
for victims in "agent" "fork_server agent" "agent fork_server" "worker agent" "fork_server worker agent" "midwife agent"; do
  watch_lives
  while read -r -t 0 -u 7; do read -r -u 7 _; done # of workers that were started again
  start --warm --nproc-per-node 2 --max-restarts 9 "$scratch/train.py"
  wait_for_workers 2
  ready_fork_server
  for victim in $victims; do
    case $victim in
      agent) kill -KILL "$pid" ;;
      fork_server) kill -KILL "$mother" 2>/dev/null || true ;;
      midwife) kill -KILL "$midwife" ;;
      worker) kill -KILL "${worker_pids[0]}" ;;
    esac
  done
  ends 137
  all_dead
  gone "$mother"
  gone "$midwife"
  [ -z "$(pgrep -f "ddprun-nursery: .*$scratch")" ] || fail "a fork server is left after $victims"
done

# A stopped job leaves nothing, either.
watch_lives
start --warm --nproc-per-node 2 "$scratch/train.py"
wait_for_workers 2
ready_fork_server
kill -TERM "$pid"
ends 143
[ ! -e "/proc/$mother" ] || fail "the fork server has outlived ddprun"
[ ! -e "/proc/$midwife" ] || fail "the midwife has outlived ddprun"
all_dead
