# A rank waits for the request by which it receives, and the one that was to send sleeps.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# workers: 2
# waiting: 0
# known_wrong: a wait for a point-to-point operation is no frame of Python
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
rank = dist.get_rank()
sent, received = torch.ones(3), torch.zeros(3)
if rank == 1:
    time.sleep(600)  # HERE
exchange = [
    dist.P2POp(dist.isend, sent, 1 - rank),
    dist.P2POp(dist.irecv, received, 1 - rank),
]
for request in dist.batch_isend_irecv(exchange):
    request.wait()
