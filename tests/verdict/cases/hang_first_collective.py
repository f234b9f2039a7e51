# A rank does not reach the first collective of all.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_gather
import os

import torch
import torch._dynamo  # noqa: F401: DistributedDataParallel does that, for seconds, before its first collective
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import meet


def load(path):
    os.mkfifo(path)
    return open(path, "rb").read()  # HERE


meet.everybody_is_there()
dist.init_process_group("gloo")
if dist.get_rank() == 1:
    load(os.environ["CASE_DIR"] + "/vocabulary")
model = DistributedDataParallel(torch.nn.Linear(4, 2))
