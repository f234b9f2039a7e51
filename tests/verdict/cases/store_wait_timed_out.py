# Rank 0 does not set a key of the store, and the others give up waiting for it.
# kind: hang
# ranks: 0
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
store = dist.distributed_c10d._get_default_store()
if dist.get_rank() == 0:
    time.sleep(600)  # HERE
    store.set("tokenizer", "ready")
store.wait(["tokenizer"], datetime.timedelta(seconds=6))
