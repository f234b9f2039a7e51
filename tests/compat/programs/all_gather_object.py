"""Python objects of any size and kind go from every rank to every other one."""

import torch.distributed as dist

from results import end, result


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()

    mine = {"rank": rank, "name": f"Zoë {rank}", "losses": [rank / 4, rank / 8], "none": None}
    everyones = [None] * size
    dist.all_gather_object(everyones, mine)
    result(f"rank {rank}: all_gather_object {everyones}")

    lengths = [None] * size
    dist.all_gather_object(lengths, "x" * (1 + rank * 3_000_000))
    result(f"rank {rank}: lengths {[len(text) for text in lengths]}")

    broadcast = [f"from rank {rank}", {1, 2, 3} if rank == 1 else None]
    dist.broadcast_object_list(broadcast, src=1)
    result(f"rank {rank}: broadcast_object_list {broadcast}")

    scattered = [None]
    dist.scatter_object_list(scattered, [("part", n) for n in range(size)], src=0)
    result(f"rank {rank}: scatter_object_list {scattered}")

    gathered = [None] * size if rank == 0 else None
    dist.gather_object(scattered, gathered, dst=0)
    result(f"rank {rank}: gather_object {gathered}")
    end()


main()
