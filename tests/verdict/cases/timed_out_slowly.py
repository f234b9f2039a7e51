# Two ranks give up to wait, and one of them tells its logger before it fails: it is not missing.
# kind: hang
# outcome: failed
# ranks: 1
# needs: torch
# arguments: --hang-timeout 300
import datetime
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    time.sleep(600)  # HERE
try:
    dist.all_reduce(torch.ones(3))
except RuntimeError:
    if dist.get_rank() == 2:
        time.sleep(1.5)
    raise
