# A rank waits for a key that nobody sets, and the others for that rank.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
# sentence: ranks 0,2 for rank 1 in gloo:all_reduce, number 2 of group 0 (default_pg), and rank 1 in TCPStore:get
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    dist.distributed_c10d._get_default_store().get("never")  # HERE
dist.all_reduce(torch.ones(3))
