# The disk is full while torch writes a checkpoint.
# kind: exception
# ranks: 0
# type: RuntimeError
# hint: disk
# needs: torch
# followers: 1,2
import torch
import torch.distributed as dist


def save():
    torch.save({"weight": torch.ones(100_000)}, "/dev/full")  # HERE


dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 0:
    save()
dist.barrier()
