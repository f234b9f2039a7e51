# On the second node a rank is stopped by a signal before it has imported torch.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# nodes: 2
# workers: 2
# ranks: 3
# waiting: 0,1,2
# operation: init_process_group
import os
import signal

import meet

meet.everybody_is_there()
if meet.RANK == 3:
    os.kill(os.getpid(), signal.SIGSTOP)

import torch.distributed as dist

meet.are_there([0, 1, 2], "imported")  # or one that still imports would hang as well
dist.init_process_group("gloo")
