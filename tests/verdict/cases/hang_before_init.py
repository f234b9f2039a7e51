# One rank sleeps before init_process_group.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
# operation: init_process_group
import time

import torch.distributed as dist

import meet

meet.everybody_is_there()
if meet.RANK == 2:
    time.sleep(600)  # HERE
dist.init_process_group("gloo")
