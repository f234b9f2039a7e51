# The script overwrites the address of the store by one at which no process listens.
# kind: exception
# some_of: 0,1,2
# type: torch.distributed.DistNetworkError
# needs: torch
import datetime
import os

import torch.distributed as dist

import meet

meet.everybody_is_there()
os.environ["MASTER_ADDR"] = "127.0.0.1"
os.environ["MASTER_PORT"] = "1"
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=4))  # HERE
