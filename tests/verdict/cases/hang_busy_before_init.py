# One rank computes for ever before it has imported torch.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: init_process_group
import meet

if meet.RANK == 1:
    while True: pass  # HERE
import torch.distributed as dist

meet.are_there([0, 2], "imported")  # or one that still imports would hang as well
dist.init_process_group("gloo")
