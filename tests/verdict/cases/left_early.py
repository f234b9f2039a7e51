# A rank has less data than the others, and is done early. Nobody has failed before them.
# kind: exit_code
# ranks: 1
# sentence: exited with code 0 while others still worked
# needs: torch
# ddprun_exit: 1
# hint: uneven data
import os
import pathlib
import time

import torch
import torch.distributed as dist


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"
    except OSError:
        return True


dist.init_process_group("gloo")
processes = [None] * dist.get_world_size()
dist.all_gather_object(processes, os.getpid())
for step in range(5 if dist.get_rank() == 1 else 9):
    while step == 5 and not has_ended(processes[1]):
        time.sleep(0.02)
    dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
