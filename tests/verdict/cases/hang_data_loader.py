# A process of one rank's data loader does not come to an end.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0
# waiting: 1,2
# operation: gloo:all_reduce
import os
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

import meet


class Slow(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index == 20 and os.environ["RANK"] == "0":
            time.sleep(600)  # HERE
        return torch.ones(1)


meet.everybody_is_there()
dist.init_process_group("gloo")
for batch in DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context="fork"):
    dist.all_reduce(batch)
