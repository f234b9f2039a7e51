# Two ranks wait for a key of the store that nobody sets.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
# operation: TCPStore:wait
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
store = dist.distributed_c10d._get_default_store()
if dist.get_rank() == 2:
    time.sleep(600)  # HERE
store.wait(["never"])
