#!/usr/bin/env python3
"""A worker that says where it is and what it has: worker.py place | cuda"""

import json
import os
import sys


def place():
    return {"cpus": sorted(os.sched_getaffinity(0))}


def cuda():
    """Warm workers are forked from a process that has imported torch: CUDA must not have begun there."""
    import torch
    begun = torch.cuda.is_initialized()
    has_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count()) \
        if has_gpu else torch.device("cpu")
    return {"begun_before": begun, "device": str(device),
            "sum": torch.ones(1000, device=device).sum().item()}


facts = {"place": place, "cuda": cuda}[sys.argv[1]]()
print(json.dumps({"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"]),
                  "attempt": int(os.environ["TORCHELASTIC_RESTART_COUNT"]), **facts}), flush=True)
if sys.argv[2:] == ["fail-once"] and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    sys.exit(3)
