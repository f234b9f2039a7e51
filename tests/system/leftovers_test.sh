#!/usr/bin/env bash
# What a worker leaves running is gone before the next attempt starts, and when the job has ended.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/worker.sh" <<'SH'
if [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]; then
  cat "$scratch"/pids.* | while read -r pid; do
    [ ! -e "/proc/$pid" ] || echo "process $pid of the attempt before is alive"
  done
  exit 0
fi
exec 9>"$alive"
sleep 1000 &
echo $! >"$scratch/pids.$RANK"
setsid sh -c 'echo $$ >>"$scratch/pids.$RANK"; trap "" TERM HUP; echo here >"$ready"; sleep 1000' &
[ "$RANK" = 0 ] || exit 0
read -r word <"$go"
exit 1
SH
export scratch go=$scratch/go
mkfifo "$go"
watch_lives
start --standalone --nproc-per-node 2 --max-restarts 1 --no-python sh "$scratch/worker.sh"
wait_ready 2
echo go >"$go"
ends 0
all_dead
says_not out "is alive"
[ "$(cat "$scratch"/pids.* | wc -l)" = 4 ] || fail "the processes to be killed were not there"

# The same holds for a job that ends well.
watch_lives
start --standalone --nproc-per-node 2 --no-python \
  sh -c 'exec 9>"$alive"; setsid sleep 1000 & sleep 1000 & exit 0'
ends 0
all_dead
says err "workers have left processes behind, which get SIGTERM: "

# What cleans up when the worker has ended has the time for it, however the worker ends.
cat >"$scratch/shared.py" <<'PY'
import os, signal
from multiprocessing.shared_memory import SharedMemory
name = "ddprun-test-" + os.environ["NAME"]
SharedMemory(name, create=True, size=1)
print("created", os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)
how = os.environ["HOW"]
if how == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "stops":
    with open(os.environ["ready"], "w") as ready:
        ready.write("here\n")
    signal.pause()
PY
export NAME=$$
for HOW in ends crashes; do
  export HOW
  start --standalone --max-restarts 1 "$scratch/shared.py"
  if [ "$HOW" = ends ]; then ends 0; else ends 139; fi
  [ ! -e "/dev/shm/ddprun-test-$NAME" ] || fail "shared memory is left of a worker that $HOW"
  says_not err FileExistsError
done
[ "$(grep -c created "$scratch/out")" = 2 ] || fail "the second attempt has not created it again"
export HOW=stops
start --standalone "$scratch/shared.py"
wait_ready 1
kill -TERM "$pid"
ends 143
[ ! -e "/dev/shm/ddprun-test-$NAME" ] || fail "shared memory is left of a worker that was stopped"

# A program that saves on SIGTERM has its time, also below a shell that ends at once, and the children that it needs.
cat >"$scratch/saves.py" <<'PY'
import multiprocessing, os, signal, time
def serve(pipe):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while pipe.recv():
        pipe.send("here")
ours, theirs = multiprocessing.Pipe()
child = multiprocessing.get_context("fork").Process(target=serve, args=[theirs], daemon=True)
if os.environ["HOW"] == "alone":
    child.start()
def save(*_):
    print("begins to save", flush=True)
    time.sleep(float(os.environ.get("SECONDS_TO_SAVE", 1)))  # longer than what ends by itself has
    if child.pid:
        ours.send(True)
        print("the child is", ours.recv(), flush=True)
    print("saved", flush=True)
    os._exit(0)  # an exception may come where it is ignored
signal.signal(signal.SIGTERM, save)
with open(os.environ["ready"], "w") as ready:
    ready.write("here\n")
while True:
    signal.pause()
PY
saves() { # COMMAND...
  start --standalone --no-python "$@"
  wait_ready 1
  kill -TERM "$pid"
  ends 143
  says out saved
  [ "$(grep -c "begins to save" "$scratch/out")" = 1 ] || fail "it was asked twice to save: $*"
}
export HOW=wrapped
saves bash -c "python3 $scratch/saves.py; exit \$?"
saves bash -c "bash -c 'python3 $scratch/saves.py; exit \$?'; exit \$?"
saves timeout 60 bash -c "python3 $scratch/saves.py; exit \$?"
# Below one that hands signals on, and takes them without a handler, as tini(1) does.
cat >"$scratch/init.py" <<'PY'
import os, signal, sys
signals = [signal.SIGTERM, signal.SIGCHLD]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    os.execvp(sys.argv[1], sys.argv[1:])
while signal.sigwait(signals) == signal.SIGTERM:
    os.kill(child, signal.SIGTERM)
PY
saves bash -c "python3 $scratch/init.py python3 $scratch/saves.py; exit \$?"
# Below a wrapper and a shell, when the wrapper has ended by itself: the shell gets SIGTERM, and then what is below it.
SECONDS_TO_SAVE=0.3 start --standalone --no-python python3 -c "
import subprocess, sys
subprocess.Popen(['bash', '-c', 'python3 $scratch/saves.py; exit 1'])
sys.stdin = open('$go')
sys.stdin.readline()"
wait_ready 1
echo go >"$go"
ends 0
says out saved
export HOW=alone
saves python3 "$scratch/saves.py"
says out "the child is here"

# A shell comes to its trap when its child has ended.
start --standalone --no-python bash -c \
  "trap 'echo trapped; exit 0' TERM; sh -c 'echo here >$ready; exec sleep 1000'; true"
wait_ready 1
kill -TERM "$pid"
ends 143
says out trapped

# A second request leaves what workers have left behind no time, either.
start --standalone --no-python bash -c "sh -c 'trap \"\" TERM; echo here >$ready; exec sleep 1000'; exit 1"
wait_ready 1
kill -TERM "$pid"
wait_for_message "SIGTERM received"
sleep 0.4 # what comes sooner is the same request
kill -TERM "$pid"
sleep 0.4
kill -TERM "$pid"
ends 143
nothing_left
