# A thread of a rank that saves a checkpoint waits for ever, and the rank waits for the thread.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:barrier
import os
import threading

import torch
import torch.distributed as dist

import meet


def save():
    path = os.environ["CASE_DIR"] + "/model.pt"
    if dist.get_rank() == 1:
        os.mkfifo(path)
        open(path, "wb").write(b"weights")  # HERE


meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
saver = threading.Thread(target=save)
saver.start()
saver.join()
dist.barrier()
