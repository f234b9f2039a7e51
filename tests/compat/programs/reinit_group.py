"""One process after the other group: init, all_reduce, destroy, ten times."""

import torch
import torch.distributed as dist

from results import result

ROUNDS = 10


def main():
    for number in range(ROUNDS):
        dist.init_process_group("gloo")
        rank, size = dist.get_rank(), dist.get_world_size()
        total = torch.tensor([number + rank])
        dist.all_reduce(total)
        expected = size * number + size * (size - 1) // 2
        assert total.item() == expected, f"rank {rank}: {total.item()} is not {expected}"
        result(f"rank {rank}: group {number} has the sum {total.item()}")
        dist.destroy_process_group()
        del total  # not earlier: torch 2.4 and 2.7 may hang when a thread of Gloo's drops its last tensor


main()
