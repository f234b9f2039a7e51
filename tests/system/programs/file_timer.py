"""A training in which rank 1 is too late by its own timer, in the first attempt. It knows no ddprun."""

import os
import pathlib
import time

import torch.distributed.elastic.timer as timer

rank = int(os.environ["RANK"])
launcher = os.getppid()
timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
with timer.expires(after=600, scope="first step"):
    print(f"rank {rank} has a timer\n", end="", flush=True)
ready = pathlib.Path(os.environ["READY_FOLDER"])
(ready / str(rank)).touch()
while not (ready / "0").exists():  # a slow import of rank 0 is not to end with rank 1's timer
    time.sleep(0.05)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if rank == 1:
        with timer.expires(after=1, scope="second step"):
            time.sleep(600)
        print("rank 1 was never killed", flush=True)
    while os.getppid() == launcher:  # torchrun kills itself, too, and leaves this one alone
        time.sleep(0.05)
