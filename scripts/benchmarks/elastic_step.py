"""An elastic loop that prints when the first step of each world counts: `step ATTEMPT WORKERS SECONDS`, of
CLOCK_MONOTONIC, and how long after the last step of the world before: `pause ATTEMPT WORKERS SECONDS`. In each attempt
before DEATHS (argument 1) rank 1 dies at its 20th step of a world of all WORKERS (argument 2), and says when. After the
last one rank 0 says what an update costs beside its block, `update ATTEMPT WORKERS SECONDS` in the median, and the loop
ends; with "wait" in place of WORKERS it goes on until it is killed."""

import os
import signal
import statistics
import sys
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

import ddprun

deaths = int(sys.argv[1])
waits = sys.argv[2] == "wait"
workers = None if waits else int(sys.argv[2])
costs = []
counted = None  # when the last step was


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def say(what, seconds):
    sys.stdout.write(f"{what} {ddprun.restart_count()} {world.size} {seconds:.9f}\n")
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
        last = begun + 20 if world.size == workers else None
        for (inputs,) in world.batches(loader):
            ddp(inputs).sum().backward()
            if world.rank == 1 and ddprun.restart_count() < deaths and run.step == last:
                say("death", now())
                os.kill(os.getpid(), signal.SIGKILL)
            before = now()
            with world.update():
                block = now()
                optimizer.step()
                optimizer.zero_grad()
                costs.append(block - before - now())
            costs[-1] += now()
            previous, counted = counted, now()
            if run.step == begun + 1:
                say("step", counted)
                if previous is not None:
                    say("pause", counted - previous)
            if not waits and ddprun.restart_count() == deaths and run.step == last:
                if world.rank == 0:
                    say("update", statistics.median(costs))
                os._exit(0)  # all leave at this step
            time.sleep(0.005)
