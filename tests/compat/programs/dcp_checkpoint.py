"""A distributed checkpoint: every rank saves its shards, and each reads them back, also cut otherwise."""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh

from results import checksum, end, result

try:
    from torch.distributed.tensor import Shard, distribute_tensor
except ImportError:  # before torch 2.5
    from torch.distributed._tensor import Shard, distribute_tensor


def make_state(seed, dim, mesh):
    torch.manual_seed(seed)
    return {
        "sharded": distribute_tensor(torch.randn(6, 4), mesh, [Shard(dim)]),
        "replicated": torch.randn(3),
        "step": seed,
    }


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))

    saved = make_state(7, 0, mesh)
    dcp.save(saved, checkpoint_id=folder[0])
    for dim in 0, 1:
        loaded = make_state(8, dim, mesh)
        dcp.load(loaded, checkpoint_id=folder[0])
        local = loaded["sharded"].to_local()
        result(f"rank {rank}: shard {tuple(local.shape)} checksum {checksum([local])}")
        assert torch.equal(loaded["sharded"].full_tensor(), saved["sharded"].full_tensor())
        assert torch.equal(loaded["replicated"], saved["replicated"])
        result(f"rank {rank}: equal, step {loaded['step']}")


main()
end(group_stays=True)
