# A GPU is full, the step is tried again with less, and that does not fit, either.
# kind: exception
# ranks: 1
# type: torch.OutOfMemoryError
# message: Tried to allocate 1.00 GiB
# hint: the GPU's memory is full
# needs: torch
# followers: 0,2
import sys

import torch
import torch.distributed as dist


def allocate(gigabytes):
    raise torch.OutOfMemoryError(  # HERE
        f"CUDA out of memory. Tried to allocate {gigabytes:.2f} GiB. GPU 0 has a total capacity of "
        "79.15 GiB of which 611.25 MiB is free. Process 4711 has 78.54 GiB memory in use.")


dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    try:
        allocate(2)
    except torch.OutOfMemoryError:
        print("CUDA is out of memory: half the batch", file=sys.stderr)
        allocate(1)
dist.all_reduce(torch.ones(3))
