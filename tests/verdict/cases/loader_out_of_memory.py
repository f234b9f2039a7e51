# The kernel kills a data loader's process because the cgroup of the job is full.
# kind: exception
# ranks: 1
# type: RuntimeError
# message: DataLoader worker
# hint: the kernel killed a data loader
# memory: 1500M
# workers: 2
# needs: torch
import torch
from torch.utils.data import DataLoader, Dataset

import meet


class Data(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        blocks = []
        while True:
            blocks.append(bytearray(b"x" * (16 << 20)))


if __name__ == "__main__":
    meet.everybody_is_there()
    if meet.RANK == 1:
        for _ in DataLoader(Data(), num_workers=1):  # HERE
            pass
    meet.sleep_for_ever()
