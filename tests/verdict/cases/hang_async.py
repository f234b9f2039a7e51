# The others wait for the result of a collective that they have begun before.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0
# waiting: 1,2
# operation: gloo:all_reduce
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 0:
    time.sleep(600)  # HERE
work = dist.all_reduce(torch.ones(3), async_op=True)
work.wait()
