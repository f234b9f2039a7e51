#!/usr/bin/env bash
# A line names what may not be imported before a fork; every worker imports it by itself.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is too old"
unset PYTHON_EXEC VIRTUAL_ENV
mkdir "$scratch/lib" "$scratch/job"
export PYTHONPATH=$scratch/lib PYTHONDONTWRITEBYTECODE=1

library() { cat >"$scratch/lib/$1.py"; }
# This module says who imported it: the fork server, or the worker itself.
library good <<<'importer = open("/proc/self/comm").read().strip()'
library threads <<<'
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()'
library sockets <<<'
import socket
kept = socket.socket()'
library device <<<'kept = open("/dev/tty0" if False else "/dev/full", "w")'
library child <<<'
import subprocess
kept = subprocess.Popen(["sleep", "1000"])'
library place <<<'
import os
rank = os.environ.get("RANK")'
library broken <<<'raise RuntimeError("no licence")'
library leaves <<<'raise SystemExit(3)'
library torch <<<'
class cuda:
    is_initialized = staticmethod(lambda: True)
class default_generator:
    seed = staticmethod(lambda: None)'
library uses_settings <<<'import settings'
library settings <<<'whose = "the library"'

# left_out MODULE WHY: a script imports it between two good modules; it is left to each worker, and ddprun
# says WHY.
left_out() {
  cat >"$scratch/job/train.py" <<PY
import good
try:
    exec("import $1")
except (ImportError, RuntimeError, SystemExit):
    pass
import os, sys
sys.stdout.write(f"rank {os.environ['RANK']}: {good.importer} {getattr(sys.modules.get('place'), 'rank', '')}\n")
PY
  run 0 --warm="good,$1" --nproc-per-node 2 "$scratch/job/train.py"
  says err "--warm: $1 is left to every worker to import: $2"
  says out "rank 0: dpr-nursery"
  says out "rank 1: dpr-nursery"
}
left_out threads "it leaves 1 thread running"
left_out sockets "it leaves socket:"
left_out device "it leaves /dev/full open"
left_out child "it leaves a child process running"
left_out place "place reads RANK as it is imported"
says out "rank 1: dpr-nursery 1"
left_out broken "RuntimeError: no licence"
left_out leaves "SystemExit: 3"
left_out missing "there is no such module"
left_out torch "it initialises CUDA as it is imported"

# The script's folder comes before all others: what is in there must not be imported from elsewhere.
echo 'whose = "the script"' >"$scratch/job/settings.py"
left_out uses_settings "the script's folder has a module 'settings' of its own"
cat >"$scratch/job/train.py" <<'PY'
import good
import settings
print(good.importer, settings.whose)
PY
run 0 --warm "$scratch/job/train.py"
says out "dpr-nursery the script"
says_not err "--warm"
rm "$scratch/job/settings.py"

# Nothing can be done where the folder hides what Python itself brings.
echo >"$scratch/job/socket.py"
run 0 --warm "$scratch/job/train.py"
says err "--warm has no effect: the script's folder has a module 'socket' of its own; workers start the ordinary way"
says out "python3 the library"
rm "$scratch/job/socket.py"

# Not even the interpreter's own trouble stops the job.
export go=$scratch/go
mkfifo "$go"
library endless <<<'
import os, signal
os.kill(os.getpid(), signal.SIGSEGV)'
echo 'import os; print("worker", os.environ["RANK"])' >"$scratch/job/plain.py"
run 0 --warm=endless --nproc-per-node 2 "$scratch/job/plain.py"
says err "--warm: the fork server was killed by SIGSEGV"
says err "workers of this round start the ordinary way"
says out "worker 1"

# By prctl ddprun becomes the parent of those that the fork server forks. A filter refuses it, and so does qemu.
real=$DDPRUN
DDPRUN=$scratch/without_prctl
printf '#!/bin/sh\nexec python3 "%s" --without prctl "%s" "$@"\n' \
  "$(realpath "$(dirname "$0")/programs/old_kernel.py")" "$(realpath "$real")" >"$DDPRUN"
chmod +x "$DDPRUN"
run 0 --warm --nproc-per-node 2 "$scratch/job/plain.py"
says err "--warm has no effect: the system makes no orphan a child of ddprun (prctl(2), PR_SET_CHILD_SUBREAPER: "
says err "processes that leave the session of their worker outlive the job"
says out "worker 0"
says out "worker 1"
DDPRUN=$real

# ddprun can be stopped while the imports go on.
library slow <<<'
import os
open(os.environ["ready"], "w").write("importing\n")
open(os.environ["go"]).read()'
exec 7<>"$ready"
start --warm=slow --nproc-per-node 2 "$scratch/job/plain.py"
wait_ready 1
kill -TERM "$pid"
ends 143
says_not out "worker"
nothing_left
