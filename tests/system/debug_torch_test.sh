#!/usr/bin/env bash
# A rank of stock PyTorch that is debugged for longer than the time of its process group, and than that of hangs: the
# others wait, nobody is called hung, and training goes on. A rank in native code can be looked at.
. "$(dirname "$0")/lib.sh"

need_torch
export OMP_NUM_THREADS=1
cat >"$scratch/steps.py" <<'PY'
"""Steps together until a file is there. While another file is there, rank 1 stays away from them."""

import datetime
import os
import time

import torch
import torch.distributed as dist

os.chdir(os.path.dirname(__file__))
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
rank = dist.get_rank()
ended = torch.zeros(1)
steps = 0
while not ended.item():
    while rank == 1 and os.path.exists("away"):
        time.sleep(0.01)
    ended += os.path.exists("end")
    dist.all_reduce(ended)
    steps += 1
    with open("step.%d.new" % rank, "w") as file:
        file.write(str(steps))
    os.rename("step.%d.new" % rank, "step.%d" % rank)
    time.sleep(0.005)
os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
PY
at_least() { [ "$(cat "$scratch/step.$1" 2>/dev/null || echo 0)" -ge "$2" ]; }

start --nproc-per-node 2 --rdzv-id steps --hang-timeout 3 "$scratch/steps.py"
until_true 300 "the first steps" at_least 0 50

# --- Longer than the group's time.
mkfifo "$scratch/commands"
"$DDPRUN" debug steps 1 <"$scratch/commands" >"$scratch/debugged" 2>&1 &
debugger=$!
exec 5>"$scratch/commands"
until_true 60 "the debugger to be there" grep -q "(rank 1)" "$scratch/debugged"
before=$(cat "$scratch/step.0")
sleep 14 # what must not come in this time: the end of the group's, or a hang
kill -0 "$pid" || fail "the job has ended"
echo continue >&5
exec 5>&-
wait "$debugger" || fail "ddprun debug: exit code $?: $(cat "$scratch/debugged")"
until_true 60 "the others to go on" at_least 0 $((before + 50))
wait_for_message "rank 1 is being debugged: no rank is called hung or slow meanwhile"
wait_for_message "no rank is debugged any more"
says_not err "no worker is stopped because of it" # what a report of a hang ends with

# --- In native code: rank 0 waits in a collective for rank 1.
mkfifo "$scratch/looks"
touch "$scratch/away"
waits() { "$DDPRUN" dump steps | grep -q "all_reduce"; }
until_true 60 "rank 0 to wait" waits
"$DDPRUN" debug steps 0 <"$scratch/looks" >"$scratch/debugged" 2>&1 &
debugger=$!
exec 5>"$scratch/looks"
until_true 60 "the debugger to look" grep -q "(rank 0)" "$scratch/debugged"
grep -q "is in native code" "$scratch/debugged" || fail "it does not say why it cannot stop"
echo 'p "steps so far", steps > 0' >&5
until_true 60 "its answer" grep -q "('steps so far', True)" "$scratch/debugged"
echo next >&5
until_true 60 "its refusal" grep -q "cannot be stopped there" "$scratch/debugged"
rm "$scratch/away"
until_true 60 "it to stop when it comes back" grep -q "rank 0 (process [0-9]*) is stopped" "$scratch/debugged"
exec 5>&-
wait "$debugger" || fail "ddprun debug: exit code $?: $(cat "$scratch/debugged")"

touch "$scratch/end"
ends 0
nothing_left
