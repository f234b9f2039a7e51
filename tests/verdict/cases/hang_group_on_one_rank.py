# A group of all ranks is made on rank 0 only, where it is wanted, and the others train on.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0
# waiting: 1,2
# operation: gloo:all_reduce
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 0:
    saving = dist.new_group([0, 1, 2])  # HERE
for step in range(3):
    dist.all_reduce(torch.ones(3))
