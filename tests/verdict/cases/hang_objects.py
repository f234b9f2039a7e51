# One rank does not gather objects.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 2:
    time.sleep(600)  # HERE
dist.all_gather_object([None] * 3, {"loss": 1})
