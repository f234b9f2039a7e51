"""A training on CPUs that goes on when it loses a worker. Each worker writes a line for each step.

    ddprun --nproc-per-node 3 --max-restarts 9 docs/examples/in_place.py

It has no end unless --steps is given. Kill one of its processes, and the others' lines go on.
"""

import argparse
import os
import signal
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import ddprun

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, help="how many the training has")
parser.add_argument(
    "--rank-1-dies-at",
    type=int,
    metavar="STEP",
    help="it is killed there, once; however long the next one takes to start, the training waits for it to take part",
)
arguments = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(1)
numbers = torch.randn(4096, 16)
data = TensorDataset(numbers, numbers.sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
batches = ddprun.Batches(len(data), global_batch=96, seed=7)
loader = DataLoader(data, batch_sampler=batches)
run = ddprun.ElasticRun(model=model, optimizer=optimizer, batches=batches)
workers = 0  # as many as there have been in the largest world


def last_step(size):
    """The step after which the training ends in a world of that size; None: not in that one."""
    if arguments.steps is None or arguments.rank_1_dies_at is None:
        return arguments.steps
    return max(arguments.steps, run.step + 10) if size == workers else None


for world in run.worlds("gloo"):
    workers = max(workers, world.size)
    with world:
        ddp = world.wrap(model)
        for inputs, sums in world.batches(loader, steps=last_step(world.size)):
            nn.functional.mse_loss(ddp(inputs), sums).backward()
            if world.rank == 1 and run.step == arguments.rank_1_dies_at and ddprun.restart_count() == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            with world.update():
                optimizer.step()
                optimizer.zero_grad()
            # In one piece: with its end in another, two ranks may write one line.
            print(f"step {run.step} rank {world.rank} of {world.size} pid {os.getpid()}\n", end="", flush=True)
            time.sleep(0.05)
print(f"the end: rank {world.rank} of {world.size} pid {os.getpid()}\n", end="", flush=True)
