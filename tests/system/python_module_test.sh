#!/usr/bin/env bash
# The module ddprun for Python under the real ddprun, with the system's Python and no PyTorch: how far a
# worker had come is reported when it fails, and a checkpoint is asked for before the scheduler ends the job.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
PYTHON_EXEC=$(command -v python3)
PYTHONPATH=$(cd "$(dirname "$0")/../../worker_sdk/python" && pwd)
export PYTHON_EXEC PYTHONPATH PYTHONDONTWRITEBYTECODE=1

# Rank 1 dies in step 3 of the first attempt, without a word.
cat >"$scratch/dies.py" <<'PY'
import os
import signal

import ddprun

for step in range(1, 5):
    if step == 4 and os.environ["RANK"] == "1" and ddprun.restart_count() == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    ddprun.heartbeat(step, loss=step / 4, samples=10)
print(f"rank {os.environ['RANK']} after {ddprun.restart_count()} restarts")
PY
run 137 --nproc-per-node 2 "$scratch/dies.py"
says err "rank 1"
says err "last heartbeat: step 3, loss 0.75"
run 0 --nproc-per-node 2 --max-restarts 1 "$scratch/dies.py"
says out "rank 0 after 1 restarts"
says out "rank 1 after 1 restarts"

# With --warm the workers are forked, and each has a slot of its own all the same.
run 137 --warm=json --nproc-per-node 2 "$scratch/dies.py"
says err "last heartbeat: step 3, loss 0.75"

# Both workers are asked. They have handlers of their own, which are called as well.
cat >"$scratch/asked.py" <<'PY'
import os
import signal
import time

import ddprun

rank = os.environ["RANK"]
number = int(os.environ["DDPRUN_CHECKPOINT_SIGNAL"])
signal.signal(number, lambda *_: print(f"rank {rank} has its own handler"))
ddprun.on_checkpoint_request(lambda: print(f"rank {rank} is asked"))
with open(os.environ["ready"], "w") as ready:
    ready.write(f"{rank}\n")
while not ddprun.checkpoint_requested():
    time.sleep(0.01)  # a step of the training
print(f"rank {rank} has saved")
PY

for signal in SIGUSR1 SIGUSR2; do
  exec 7<>"$ready"
  start --nproc-per-node 2 --preempt-signal SIGTERM --checkpoint-signal "$signal" "$scratch/asked.py"
  wait_ready 2
  kill -TERM "$pid"
  ends 85
  for rank in 0 1; do
    says out "rank $rank is asked"
    says out "rank $rank has its own handler"
    says out "rank $rank has saved"
  done
done
nothing_left
