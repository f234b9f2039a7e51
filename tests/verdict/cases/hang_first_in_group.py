# A rank does not take part in the first collective of a group of two, and goes past it.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1,2
# waiting: 0
# known_wrong: a sub-group that a rank has never used is not known to be its own
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
pair = dist.new_group([1, 2])
if dist.get_rank() == 1:
    dist.all_reduce(torch.ones(3), group=pair)  # HERE
dist.barrier()
