# In a ring, all ranks receive first and want to send afterwards.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0,1,2
# operation: recv
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
rank, size = dist.get_rank(), dist.get_world_size()
part = torch.zeros(3)
dist.recv(part, src=(rank - 1) % size)  # HERE
dist.send(part, dst=(rank + 1) % size)
