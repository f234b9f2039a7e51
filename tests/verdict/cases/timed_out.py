# A collective's own time is over before a hang is known: the rank that did not come is the cause.
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
dist.all_reduce(torch.ones(3))
