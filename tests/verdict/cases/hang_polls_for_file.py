# A rank looks again and again for a file that nobody writes under that name.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
# operation: gloo:barrier
import os
import time

import torch
import torch.distributed as dist

import meet


def wait_for_index():
    while not os.path.exists(os.environ["CASE_DIR"] + "/train.idx"):
        time.sleep(1)  # HERE


meet.everybody_is_there()
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    open(os.environ["CASE_DIR"] + "/train.index", "w").close()
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 2:
    wait_for_index()
dist.barrier()
