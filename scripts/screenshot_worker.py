"""The worker of scripts/screenshot: it fails once, and then one rank hangs before a collective of the others."""

import math
import sys
import time

import ddprun
import torch
import torch.distributed as dist

FAILS_AT, HANGS_AT = 100, 400


def load_batch(step):
    time.sleep(600 if (rank, step) == (1, HANGS_AT) else 0.1)


dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), ddprun.restart_count()
gradient = torch.zeros(10)
for step in range(FAILS_AT * attempt, 100_000):
    load_batch(step)
    dist.all_reduce(gradient)
    noise = math.sin(step * 12.9898 + rank) * 0.05
    ddprun.heartbeat(step, loss=0.3 + 2.2 * math.exp(-step / 100) * (1 + noise), samples=32)
    print(f"step {step}: all is well on rank {rank}", file=sys.stderr, flush=True)
    if (rank, step, attempt) == (2, FAILS_AT, 0):
        sys.exit("CUDA error: an illegal memory access was encountered")
