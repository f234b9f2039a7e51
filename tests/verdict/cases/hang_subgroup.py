# One rank of a group of two does not come; the ranks that are not in it wait for both.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# workers: 4
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
mine = pairs[dist.get_rank() // 2]
dist.all_reduce(torch.ones(3), group=mine)
if dist.get_rank() == 1:
    time.sleep(600)  # HERE
dist.all_reduce(torch.ones(3), group=mine)
dist.barrier()
