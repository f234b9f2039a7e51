# Two ranks wait for a file that is locked, and who keeps it waits for them.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1,2
# waiting: 0
# operation: gloo:barrier
import fcntl
import os

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
file = open(os.environ["CASE_DIR"] + "/cache.lock", "w")
if dist.get_rank() == 0:
    fcntl.flock(file, fcntl.LOCK_EX)
dist.all_reduce(torch.ones(3))
if dist.get_rank() != 0:
    fcntl.flock(file, fcntl.LOCK_EX)  # HERE
dist.barrier()
