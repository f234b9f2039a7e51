# A rank fails, and waits in a `finally` for the others, who wait for it elsewhere.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
# sentence: rank 1 called gloo:barrier
import torch
import torch.distributed as dist

import meet


def train():
    for step in range(5):
        if step == 3 and dist.get_rank() == 1:
            raise KeyError("labels")
        dist.all_reduce(torch.ones(3))


meet.everybody_is_there()
dist.init_process_group("gloo")
try:
    train()
finally:
    dist.barrier()  # HERE
