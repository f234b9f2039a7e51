"""A DDP training of a few steps, as a user's script: under a launcher, or with workers of its own."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def train():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.full((2, 4), float(rank))).sum().backward()
        optimizer.step()
    total = model.module.weight.detach().clone()
    dist.all_reduce(total)
    assert torch.allclose(total, size * model.module.weight.detach(), rtol=1e-4)
    # In one write: the workers of a node share a pipe.
    os.write(1, f"rank {rank} of {size} on {os.uname().nodename} done: {sys.argv[1]}\n".encode())
    dist.barrier()
    os._exit(0)


def spawned(rank, size):
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size)}
    train()


if __name__ == "__main__":
    if "RANK" in os.environ:
        train()
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "12355"}
    mp.spawn(spawned, args=(2,), nprocs=2)
