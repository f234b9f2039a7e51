"""All ranks add up what they have. Rank 1 fails in the first attempt."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
if rank == 1 and attempt == 0:
    raise RuntimeError("no luck today")
dist.init_process_group("gloo")
total = torch.tensor([rank + 1])
dist.all_reduce(total)
size = dist.get_world_size()
# The line and its end in one write, so that lines of several ranks do not mix.
print(f"attempt {attempt}, rank {rank} of {size}: the sum is {total.item()}\n", end="")
dist.destroy_process_group()
