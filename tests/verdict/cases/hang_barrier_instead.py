# One rank calls a barrier where the others reduce a tensor.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
# sentence: rank 1 called gloo:barrier, ranks 0,2 gloo:all_reduce [[3]] Float, both as number 2
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    dist.barrier()  # HERE
else:
    dist.all_reduce(torch.ones(3))
