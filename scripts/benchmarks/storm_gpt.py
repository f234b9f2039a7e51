"""A GPT in an elastic loop, for scripts/bench storm: `storm_gpt.py FOLDER STEPS`

It trains on the bytes of FOLDER/text. Each worker appends lines of JSON to FOLDER/told: the samples of each step before
it trains on them, and the step's mean loss when it counts. tests/worker_sdk/elastic/storm_gpt.cpp is the same in C++.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

import ddprun

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "worker_sdk" / "examples"))
import gpt  # noqa: E402

SAVE_EVERY = 100


class Windows:
    """The windows of a text as samples: the number, inputs and targets of each."""

    def __init__(self, tokens):
        self.tokens = tokens

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        inputs, targets = self.tokens.batch([index])
        return index, inputs[0], targets[0]


def train(folder, steps):
    sizes = argparse.Namespace(data=[folder / "text"], token_bytes=1, vocab_size=256, layers=2, heads=2, width=64,
                               context=32, dropout=0.0, checkpoint_activations=False, seed=1337, weight_decay=0.1,
                               lr=1e-3, min_lr=1e-4, warm_up=100, steps=steps, zero=False)
    model = gpt.GPT(sizes)
    optimizer = gpt.make_optimizer(sizes, model)
    schedule = gpt.make_scheduler(sizes, optimizer)
    windows = Windows(gpt.Tokens(sizes))
    batches = ddprun.Batches(len(windows), global_batch=60, seed=7)
    loader = DataLoader(windows, batch_sampler=batches)
    run = ddprun.ElasticRun(model=model, optimizer=optimizer, schedule=schedule, batches=batches)
    saved = folder / "run.pt"
    if saved.exists():
        run.load_state_dict(torch.load(saved))
    told = open(folder / "told", "a")  # lines of several processes: each is written as one
    for world in run.worlds("gloo", timeout=120):
        place = {"round": int(os.environ.get("DDPRUN_ROUND", "0")), "rank": world.rank, "size": world.size,
                 "pid": os.getpid()}

        def tell(what, **facts):
            print(json.dumps({"what": what, "at": time.monotonic(), **place, **facts}), file=told, flush=True)

        with world:
            ddp = world.wrap(model)
            tell("world", step=run.step)
            for indices, inputs, targets in world.batches(loader, steps=steps):
                tell("samples", step=run.step + 1, indices=indices.tolist())
                loss = ddp(inputs, targets)
                loss.backward()
                mean = loss.detach()
                dist.all_reduce(mean)
                with world.update():
                    optimizer.step()
                    optimizer.zero_grad()
                    schedule.step()
                tell("step", step=run.step, loss=mean.item() / world.size)
                if run.step % SAVE_EVERY == 0 and world.rank == 0:
                    torch.save(run.state_dict(), folder / "run.new")
                    os.replace(folder / "run.new", saved)


if __name__ == "__main__":
    torch.set_num_threads(1)
    train(Path(sys.argv[1]), int(sys.argv[2]))
