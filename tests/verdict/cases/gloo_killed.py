# A rank is killed while the others wait for it in all_reduce.
# kind: signal
# ranks: 2
# signal: SIGKILL
# needs: torch
import os
import signal

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 2:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(torch.ones(3))
