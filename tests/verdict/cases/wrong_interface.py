# A rank's environment names a network interface that is not there, and the others wait for it.
# kind: exception
# ranks: 1
# type: RuntimeError
# needs: torch
# hint: GLOO_SOCKET_IFNAME
# stopped: 0,2
import os

import torch.distributed as dist

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    os.environ["GLOO_SOCKET_IFNAME"] = "eth99"
dist.init_process_group("gloo")  # HERE
