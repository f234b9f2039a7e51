# A rank believes that another root broadcasts: two wait in there, and one is past it already.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# some_of: 1,2
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
root = 0 if dist.get_rank() == 2 else 1
dist.broadcast(torch.ones(3), src=root)  # HERE
dist.barrier()
