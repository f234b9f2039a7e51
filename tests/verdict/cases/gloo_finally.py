# The cause cleans up in a `finally`, which fails because the others are gone by then.
# kind: exception
# ranks: 0
# type: ValueError
# message: loss is nan
# needs: torch
# hint: diverged
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 0:
    try:
        raise ValueError("loss is nan")  # HERE
    finally:
        raise RuntimeError("[pair.cc:547] Connection closed by peer [127.0.0.1]:26535")
time.sleep(60)
