# The data of one rank end a batch earlier: it gathers its results while the others still train.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import torch
import torch._dynamo  # noqa: F401: DistributedDataParallel does that, for seconds, before its first collective
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

import meet


class Shard(IterableDataset):
    def __iter__(self):
        for _ in range(4 if dist.get_rank() == 1 else 5):
            yield torch.ones(2, 4)


meet.everybody_is_there()
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 2))
for batch in DataLoader(Shard(), batch_size=None):
    model(batch).sum().backward()
losses = [None] * dist.get_world_size()
dist.all_gather_object(losses, 0.5)  # HERE
