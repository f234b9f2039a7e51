# A rank goes past a collective of its group of two, in which the other one waits for it.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2,3
# waiting: 0,1
# workers: 4
# sentence: ranks 0-1,3 for rank 2 in gloo:all_reduce, number 2 of group 0 (default_pg), and rank 2 for rank 3
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
pair = dist.new_group([2, 3])
if dist.get_rank() >= 2:
    dist.all_reduce(torch.ones(3), group=pair)
if dist.get_rank() == 2:
    dist.all_reduce(torch.ones(3), group=pair)  # HERE
dist.all_reduce(torch.ones(3))
