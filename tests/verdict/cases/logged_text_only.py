# A trainer logs the text of what was raised, no traceback, and exits; the others do so after it.
# kind: exit_code
# ranks: 1
# exit_code: 1
# sentence: the learning rate must be positive
# needs: torch
# followers: 0,2
import logging
import os
import sys

import torch
import torch.distributed as dist


def train():
    if dist.get_rank() == 1:
        raise ValueError("the learning rate must be positive")
    dist.all_reduce(torch.ones(3))


dist.init_process_group("gloo")
dist.barrier()
try:
    train()
except Exception as error:
    logging.error("training failed: %s", error)
    sys.stderr.flush()
    os._exit(1)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
