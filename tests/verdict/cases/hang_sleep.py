# One rank sleeps while the others wait for it in a collective.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))

def load_batch():
    time.sleep(600)  # HERE


if dist.get_rank() == 1:
    load_batch()
dist.all_reduce(torch.ones(3))
