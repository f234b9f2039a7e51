# One rank waits for a thread that fetches data and does not come to an end.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import queue
import threading
import time

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
batches = queue.Queue()
for step in range(3):
    dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    batches.get()  # HERE
dist.all_reduce(torch.ones(3))
