# One rank waits for a process of its own to end.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import multiprocessing
import time

import torch
import torch.distributed as dist

import meet

if __name__ == "__main__":
    meet.everybody_is_there()
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(3))
    if dist.get_rank() == 1:
        process = multiprocessing.Process(target=time.sleep, args=(600,))
        process.start()
        process.join()  # HERE
    dist.all_reduce(torch.ones(3))
