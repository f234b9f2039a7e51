"""The training of the examples beside it. It saves its state every 20 steps, and goes on from there after a restart."""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ddprun

CHECKPOINT = Path("checkpoint.pt")


def train(begin, steps=200):
    """Rank 0 calls begin(job, first step, restarts so far), and what that returns with each step and its loss."""
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    step = 0
    if CHECKPOINT.exists():
        state = torch.load(CHECKPOINT, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    log = None
    if dist.get_rank() == 0:  # the name is that of --rdzv-id, or a scheduler's job id; it outlives restarts
        log = begin(os.environ["TORCHELASTIC_RUN_ID"], step, ddprun.restart_count())
    while step < steps:
        step += 1
        numbers = torch.randn(32, 16, generator=torch.Generator().manual_seed(step * 1000 + dist.get_rank()))
        loss = nn.functional.mse_loss(model(numbers), numbers.sum(1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ddprun.heartbeat(step, loss=loss, steps=steps)
        if log:
            log(step, loss.item())
            if step % 20 == 0:
                new = CHECKPOINT.with_suffix(".new")
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, new)
                new.replace(CHECKPOINT)
        time.sleep(0.05)
    dist.destroy_process_group()
