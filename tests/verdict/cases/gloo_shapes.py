# The ranks give tensors of different sizes to a collective: gloo ends the program of the receiver.
# some_of: 0,1
# workers: 2
# needs: torch
# kind: exception
# hint: different sizes
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(10 if dist.get_rank() == 0 else 100_000))
