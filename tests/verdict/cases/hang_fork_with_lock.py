# A data loader's process is forked while a thread keeps a lock, which nobody in there gives back.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import os
import threading

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

import meet

lock = threading.Lock()
held = threading.Event()
forked = threading.Event()
os.register_at_fork(after_in_parent=forked.set)


class Cached(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        lock.acquire()  # HERE
        lock.release()
        return torch.ones(1)


def refresh():
    with lock:
        held.set()
        forked.wait()


meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 1:
    threading.Thread(target=refresh, daemon=True).start()
    held.wait()
for batch in DataLoader(Cached(), batch_size=2, num_workers=1):
    dist.all_reduce(batch)
