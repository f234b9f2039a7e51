# A rank has no data, and returns well before init_process_group, in which the others wait for it.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: init_process_group
import sys

import torch.distributed as dist

import meet

meet.everybody_is_there()
shards = ["a", None, "c"]
if shards[meet.RANK] is None:
    print("no data for this rank", file=sys.stderr)
    sys.exit(0)
dist.init_process_group("gloo")
