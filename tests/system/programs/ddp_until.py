"""A stock PyTorch DDP program that trains until a file is there. What it does with its store after that
is argument 2: nothing, or "group": it makes another group, which takes the store."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(torch.nn.Linear(4, 2))
steps = 0
over = torch.zeros(1)
while not over.item():
    model(torch.ones(3, 4)).sum().backward()
    steps += 1
    if steps == 3:
        print(f"rank {rank} trains in round {os.environ['DDPRUN_ROUND']}\n", end="", flush=True)
    time.sleep(0.05)
    over.fill_(os.path.exists(sys.argv[1]))
    dist.all_reduce(over)
if sys.argv[2:] == ["group"]:
    dist.new_group([0, 1])
dist.barrier()
print(f"rank {rank} done in round {os.environ['DDPRUN_ROUND']}\n", end="", flush=True)
dist.destroy_process_group()
os._exit(0)  # see ddp.py
