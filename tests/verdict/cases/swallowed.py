# The program prints what was raised and ends with code 0; the others lose it in a collective.
# kind: exception
# ranks: 1
# type: KeyError
# needs: torch
# followers: 0,2
import os
import sys
import traceback

import torch
import torch.distributed as dist


def train():
    if dist.get_rank() == 1:
        {}["x"]  # HERE
    dist.all_reduce(torch.ones(3))


dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    try:
        train()
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
train()
