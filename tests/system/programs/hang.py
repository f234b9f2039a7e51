"""Two steps together; then rank 1 sleeps, and the others wait for it in a collective."""

import time

import torch
import torch.distributed as dist


def load_batch():
    time.sleep(100_000)


dist.init_process_group("gloo")
for step in range(3):
    if step == 2 and dist.get_rank() == 1:
        load_batch()
    dist.all_reduce(torch.ones(10))
