# Trains a weight for STEPS steps, and saves it each five: checkpoint-5, checkpoint-10. Rank 0 does that alone. Before
# the second save of the first attempt a rate goes wrong, so that the weight is no finite number three steps after that
# checkpoint was loaded. Each save waits for a line in the named pipe $next, and rank 1 for one in $next.end.
#   HEARTBEAT=1  it reports its steps
import json
import math
import os
import sys

import ddprun

out = os.environ["OUT"]
rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def saved():
    return [int(name.split("-")[1]) for name in os.listdir(out) if name.startswith("checkpoint-")]


def wait_for_line(path):
    """The writer of the last line may still have the pipe open: then there is an end of file and no line."""
    line = ""
    while not line:
        with open(path) as pipe:
            line = pipe.readline()


os.makedirs(out, exist_ok=True)
step, weight, rate = 0, 1.0, 0.1
if saved():
    step = max(saved())
    with open(f"{out}/checkpoint-{step}/state.json") as file:
        weight, rate = json.load(file)
print(f"rank {rank} begins at {step}", flush=True)
if rank == 1:
    wait_for_line(os.environ["next"] + ".end")
    sys.exit(0)
while step < int(os.environ["STEPS"]):
    step += 1
    weight -= rate * weight
    if not math.isfinite(weight):
        raise FloatingPointError(f"step {step}: the weight is {weight}")
    if os.environ.get("HEARTBEAT"):
        ddprun.heartbeat(step)
    if step % 5 != 0:
        continue
    if attempt == 0 and step == 10:
        rate = 1e120
    os.mkdir(f"{out}/checkpoint-{step}")
    with open(f"{out}/checkpoint-{step}/state.json", "w") as file:
        json.dump([weight, rate], file)
    wait_for_line(os.environ["next"])
if os.environ["WORLD_SIZE"] == "2":
    with open(os.environ["next"] + ".end", "w") as pipe:
        pipe.write("\n")
