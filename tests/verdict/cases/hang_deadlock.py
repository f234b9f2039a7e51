# Each rank waits in a group of two for one that waits in another group.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0,1,2
# waiting: 0,1,2
import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
pairs = [dist.new_group(ranks) for ranks in ([0, 1], [1, 2], [0, 2])]
order = {0: (0, 2), 1: (1, 0), 2: (2, 1)}[dist.get_rank()]
for pair in order:
    dist.all_reduce(torch.ones(3), group=pairs[pair])
