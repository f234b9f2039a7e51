# A rank does not reach init_process_group, and the others give up waiting for it.
# kind: hang
# ranks: 1
# needs: torch
# arguments: --hang-timeout 300
import datetime
import time

import torch.distributed as dist

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    time.sleep(600)  # HERE
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
