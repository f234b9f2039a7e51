# A process of one rank's data loader is stopped by a signal.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
# operation: gloo:all_reduce
import os
import signal

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

import meet


class Data(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index == 20 and os.environ["RANK"] == "2":
            os.kill(os.getpid(), signal.SIGSTOP)
        return torch.ones(1)


meet.everybody_is_there()
dist.init_process_group("gloo")
for batch in DataLoader(Data(), batch_size=4, num_workers=1):
    dist.all_reduce(batch)
