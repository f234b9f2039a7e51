# A rank has less data than the others, and is done early. Nobody has failed before them.
# kind: exit_code
# ranks: 1
# sentence: exited with code 0 while others still worked
# needs: torch
# ddprun_exit: 1
# hint: uneven data
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
for step in range(5 if dist.get_rank() == 1 else 9):
    if step == 5:
        time.sleep(3)  # by then rank 1 has ended
    dist.all_reduce(torch.ones(3))
