# One rank calls two collectives in another order than the others: all of them wait for each other.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# sentence: rank 1 called gloo:broadcast [[3]] Float, ranks 0,2 gloo:all_gather [[3]] Float, both as number 2
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    dist.broadcast(torch.ones(3), src=0)
    dist.all_gather([torch.ones(3) for _ in range(3)], torch.ones(3))
else:
    dist.all_gather([torch.ones(3) for _ in range(3)], torch.ones(3))
    dist.broadcast(torch.ones(3), src=0)
dist.barrier()
