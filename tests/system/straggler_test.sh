#!/usr/bin/env bash
# A rank for which the others wait in each step is named while stock PyTorch trains, with its cause, and so is its end.
# What shows a running job shows it, too.
. "$(dirname "$0")/lib.sh"

need_torch
export OMP_NUM_THREADS=1
cat >"$scratch/steps.py" <<'PY'
"""Steps together until a file is there. The rank that another file names sleeps in each of them."""

import os
import sys
import time

import torch
import torch.distributed as dist


def load():
    try:
        slow = open("slow").read().strip()
    except OSError:
        return
    if slow == os.environ["RANK"]:
        time.sleep(0.1)


os.chdir(sys.argv[1])
dist.init_process_group("gloo")
ended = torch.zeros(1)
while not ended.item():
    load()
    time.sleep(0.02)
    ended += os.path.exists("end")
    dist.all_reduce(ended)
sys.stdout.flush()
os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
PY

# is_slow RANK: exactly this rank is slow from now on; "": none is.
is_slow() { echo "$1" >"$scratch/slow.new" && mv "$scratch/slow.new" "$scratch/slow"; }

is_slow 1
start --nproc-per-node 3 --rdzv-id slow --event-log "$scratch/events" "$scratch/steps.py" "$scratch"
until_true 300 "the slow rank to be reported" grep -q "rank 1 (.*) makes the others wait .* late in each step" "$scratch/err"
shows_it() { "$DDPRUN" status slow | grep -q "slow: rank 1 (.*) makes the others wait"; }
until_true 60 "the status to show it" shows_it
knows_cause() { "$DDPRUN" status slow | grep -q "slow: rank 1 .* neither ran nor was .* in [0-9]* of 10 looks it sleeps at load (.*steps.py:17)"; }
until_true 60 "its cause" knows_cause

is_slow ""
until_true 300 "its end to be reported" grep -q "rank 1 is as fast as the others again" "$scratch/err"
shows_nothing() { ! "$DDPRUN" status slow | grep -q "slow: rank"; }
until_true 60 "the status to show nothing of it" shows_nothing

is_slow 2
until_true 300 "the other slow rank to be reported" grep -q "rank 2 (.*) makes the others wait" "$scratch/err"
touch "$scratch/end"
ends 0
grep -q "rank 2 (.*) made the others wait [0-9]* % of the time" "$scratch/err" || fail "its end is not told"

python3 - "$scratch/events" <<'PY'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
slow = [event for event in events if event["kind"].startswith("straggler")]
assert [event["ranks"] for event in slow if event["kind"] == "straggler_over"] == ["1"], slow
assert {event["ranks"] for event in slow} == {"1", "2"}, slow
first = next(event for event in slow)
assert first["cost_percent"] > 50 and first["late_us"] > 80_000 and first["step_us"] > first["late_us"], first
PY
