# The agent of the third node is killed, with its worker, for which others wait in a collective.
# kind: node_lost
# nodes: 3
# workers: 1
# ranks: 2
# needs: torch
# arguments: --rdzv-conf join_timeout=8
# reports: 0,1
import os
import signal
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 2:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
dist.all_reduce(torch.ones(3))
