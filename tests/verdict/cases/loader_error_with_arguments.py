# A data loader's process raises an exception that torch cannot make again, and says by another one.
# kind: exception
# ranks: 1
# type: BadSample
# needs: torch
# followers: 0,2
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class BadSample(Exception):
    def __init__(self, path, offset):
        super().__init__(f"{path} is broken at byte {offset}")


class Data(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        if index == 7 and dist.get_rank() == 1:
            raise BadSample("shard_3.tar", 4096)  # HERE
        return torch.ones(1)


dist.init_process_group("gloo")
for batch in DataLoader(Data(), batch_size=2, num_workers=2):
    dist.all_reduce(batch)
