# One rank waits to receive what another one does not send.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# workers: 2
# waiting: 0
# operation: recv
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 0:
    dist.recv(torch.ones(3), src=1)
time.sleep(600)  # HERE
