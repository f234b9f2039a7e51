"""The worker of scripts/screenshot: it says that it trains, fails once, and has one slow rank."""

import math
import os
import sys
import time

import ddprun

rank, attempt = int(os.environ["RANK"]), ddprun.restart_count()
for step in range(400 * attempt, 100_000):
    noise = math.sin(step * 12.9898 + rank) * 0.05
    ddprun.heartbeat(step, loss=0.3 + 2.2 * math.exp(-step / 300) * (1 + noise), samples=32)
    print(f"step {step}: all is well on rank {rank}", file=sys.stderr, flush=True)
    time.sleep(0.015 if rank == 5 else 0.01)
    if attempt == 0 and rank == 3 and step == 400:
        sys.exit("CUDA error: an illegal memory access was encountered")
