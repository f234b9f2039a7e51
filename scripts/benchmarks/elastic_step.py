"""An elastic loop that prints when the first step of each world counts: `step ATTEMPT WORKERS SECONDS`, of
CLOCK_MONOTONIC. In each attempt before DEATHS (argument 1) rank 1 dies at its 20th step of a world of three, and says
when; after the last one the loop ends, or goes on until it is killed ("wait" as argument 2)."""

import os
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

import ddprun

WORKERS = 3
deaths = int(sys.argv[1])
waits = sys.argv[2:] == ["wait"]


def say(what):
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    sys.stdout.write(f"{what} {ddprun.restart_count()} {world.size} {now:.6f}\n")
    sys.stdout.flush()


model = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.ones(1024, 16))
batches = ddprun.Batches(len(data), local_batch=8)
run = ddprun.ElasticRun(model=model, optimizer=optimizer, batches=batches)
loader = DataLoader(data, batch_sampler=batches)
for world in run.worlds("gloo"):
    with world:
        ddp = world.wrap(model)
        begun = run.step
        last = begun + 20 if world.size == WORKERS else None
        for (inputs,) in world.batches(loader):
            ddp(inputs).sum().backward()
            if world.rank == 1 and ddprun.restart_count() < deaths and run.step == last:
                say("death")
                os.kill(os.getpid(), signal.SIGKILL)
            with world.update():
                optimizer.step()
                optimizer.zero_grad()
            if run.step == begun + 1:
                say("step")
            if not waits and ddprun.restart_count() == deaths and run.step == last:
                os._exit(0)  # all leave at this step
            time.sleep(0.005)
