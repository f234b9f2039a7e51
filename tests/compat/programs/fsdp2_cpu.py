"""FSDP2 on CPUs: each rank has half of every weight, and the same loss as with all of it."""

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from results import checksum, end, result


def train(rank, size):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    mesh = init_device_mesh("cpu", (size,))
    for layer in model[0], model[2]:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    torch.manual_seed(1 + rank)
    inputs, targets = torch.randn(32, 8), torch.randn(32, 2)
    for step in range(5):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        result(f"rank {rank}: step {step} loss {loss.item():.6f}")
    shards = [parameter.to_local() for parameter in model.parameters()]
    result(f"rank {rank}: {[tuple(shard.shape) for shard in shards]} checksum {checksum(shards)}")
    whole = [parameter.full_tensor() for parameter in model.parameters()]
    result(f"rank {rank}: whole checksum {checksum(whole)}")


dist.init_process_group("gloo")
train(dist.get_rank(), dist.get_world_size())
end(group_stays=True)
