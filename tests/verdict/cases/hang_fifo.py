# One rank loads a checkpoint from a pipe that nobody opens.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
# operation: gloo:barrier
import os
import tempfile

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 2:
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(folder + "/model.pt")
        torch.load(folder + "/model.pt")  # HERE
dist.barrier()
