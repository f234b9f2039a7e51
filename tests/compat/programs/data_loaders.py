"""Data loaders whose own workers are forked and spawned, with a class and a function of __main__."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from results import end, result


class Squares(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        assert torch.utils.data.get_worker_info() is not None
        return torch.tensor(i * i)


def add_up(batch):
    return sum(int(number) for number in batch)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for method in ("fork", "spawn"):
        sampler = DistributedSampler(Squares(), shuffle=True, seed=7)
        loader = DataLoader(Squares(), batch_size=4, sampler=sampler, num_workers=1,
                            collate_fn=add_up, multiprocessing_context=method)
        result(f"rank {rank} {method}: {list(loader)}")
    end()


if __name__ == "__main__":
    main()
