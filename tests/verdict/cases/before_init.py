# A rank fails before init_process_group, in which the others wait for it.
# kind: exception
# ranks: 2
# type: PermissionError
# needs: torch
# hint: may not
# stopped: 0,1
import os

import torch.distributed as dist

import meet

meet.everybody_is_there()
if meet.RANK == 2:
    raise PermissionError(13, "Permission denied", "/data")  # HERE
dist.init_process_group("gloo")
