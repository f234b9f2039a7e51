"""A stock DDP program that prints when its first optimizer step is done: `step ATTEMPT SECONDS`, of
CLOCK_MONOTONIC. Until attempt DEATHS (argument 1) rank 1 then dies, and says when; after the last one
it ends, or waits to be killed ("wait" as argument 2)."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

deaths = int(sys.argv[1])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def say(what):
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    sys.stdout.write(f"{what} {attempt} {os.environ['WORLD_SIZE']} {now:.6f}\n")


dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(8, 16)).sum().backward()
optimizer.step()
say("step")
if attempt < deaths or sys.argv[2:] == ["wait"]:
    dist.barrier()
    if dist.get_rank() == 1 and attempt < deaths:
        say("death")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)
dist.destroy_process_group()
os._exit(0)  # the time of torch's own end is not measured
