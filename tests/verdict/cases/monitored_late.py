# A barrier that is watched says which rank has not come.
# kind: hang
# ranks: 1
# needs: torch
# arguments: --hang-timeout 300
import datetime
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    time.sleep(600)  # HERE
dist.monitored_barrier(timeout=datetime.timedelta(seconds=15))
