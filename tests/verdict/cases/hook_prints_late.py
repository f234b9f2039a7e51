# A hook leaves the process group and tells a tracker of the exception before it is printed.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
# needs: torch
# followers: 0,2
import sys
import time

import torch
import torch.distributed as dist


def hook(*error):
    dist.destroy_process_group()
    time.sleep(1)
    sys.__excepthook__(*error)


sys.excepthook = hook
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    {}["x"]  # HERE
dist.all_reduce(torch.ones(3))
