# One rank has done its work, and a thread of it keeps it from ending.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
import threading
import time

import torch
import torch.distributed as dist

import meet


def upload():
    time.sleep(600)  # HERE


meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
dist.barrier()
dist.destroy_process_group()
if dist.is_initialized() or int(__import__("os").environ["RANK"]) == 1:
    threading.Thread(target=upload).start()
