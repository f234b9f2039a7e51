"""A stock PyTorch DDP program. Until attempt CRASHES (argument 1), a rank dies in the middle."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

crashes = int(sys.argv[1])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

total = torch.tensor([rank + 1.0])
dist.all_reduce(total)
assert total.item() == size * (size + 1) / 2

torch.manual_seed(rank)  # DDP must make the models equal
model = DistributedDataParallel(torch.nn.Linear(4, 2))
model(torch.full((3, 4), float(rank))).sum().backward()
weights = [torch.empty(2, 4) for _ in range(size)]
dist.all_gather(weights, model.module.weight.data)
assert all(torch.equal(weights[0], w) for w in weights)
assert torch.allclose(model.module.weight.grad, torch.full((2, 4), 3.0 * (size - 1) / 2))

if attempt < crashes and rank == attempt % size:
    os.kill(os.getpid(), signal.SIGKILL)

objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
assert objects == [{"rank": r} for r in range(size)]
pair = dist.new_group([0, 1])
if rank < 2:
    dist.barrier(group=pair)
dist.monitored_barrier()
dist.barrier()
print(f"rank {rank} of {size} done in attempt {attempt}\n", end="", flush=True)
dist.destroy_process_group()
# Python 3.11 sometimes aborts while it shuts down, when a thread of Gloo's drops its last tensor just
# then ("terminate called without an active exception"). What is tested here is over by now.
os._exit(0)
