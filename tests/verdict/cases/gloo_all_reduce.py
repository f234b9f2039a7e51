# A rank dies while the others wait for it in all_reduce.
# kind: exception
# ranks: 1
# type: KeyError
# needs: torch
# followers: 0,2
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    raise KeyError("planted")  # HERE
dist.all_reduce(torch.ones(3))
