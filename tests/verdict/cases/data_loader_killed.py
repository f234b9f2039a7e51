# A process of a data loader is killed, as when memory ends. The rank says so at the loop.
# kind: exception
# ranks: 1
# type: RuntimeError
# message: exited unexpectedly
# needs: torch
import os
import signal

import torch.utils.data

import meet


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    meet.everybody_is_there()
    if meet.RANK == 1:
        for _ in torch.utils.data.DataLoader(Data(), num_workers=1):  # HERE
            pass
    meet.sleep_for_ever()
