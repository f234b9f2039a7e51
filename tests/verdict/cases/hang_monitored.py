# One rank does not reach a barrier that is watched.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: monitored_barrier
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    time.sleep(600)  # HERE
dist.monitored_barrier()
