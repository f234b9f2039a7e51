# The cause is on one node, and workers of both follow.
# kind: exception
# nodes: 2
# workers: 2
# ranks: 1
# type: OverflowError
# needs: torch
# followers: 2,3
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    raise OverflowError("too much")  # HERE
dist.all_reduce(torch.ones(3))
