# Two ranks lock two files, each in its own order, and a third one waits for both.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0,1
# waiting: 2
# operation: gloo:barrier
import fcntl
import os

import torch
import torch.distributed as dist

import meet


def lock(name):
    file = open(os.path.join(os.environ["CASE_DIR"], name), "w")
    fcntl.flock(file, fcntl.LOCK_EX)  # HERE
    return file


meet.everybody_is_there()
dist.init_process_group("gloo")
names = ["vocabulary.lock", "index.lock"]
if dist.get_rank() == 1:
    names.reverse()
if dist.get_rank() < 2:
    first = lock(names[0])
dist.all_reduce(torch.ones(3))
if dist.get_rank() < 2:
    second = lock(names[1])
dist.barrier()
