"""ddp_steps.cpp in stock PyTorch: the same network, batches and steps; losses and times as JSON.

With --case, several trainings follow each other in the same processes, for `import torch` costs more than
a small training: a line of JSON for each.
"""

import argparse
import contextlib
import gc
import json
import os
import shlex
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import (
    bf16_compress_hook, fp16_compress_hook)
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

MODELS = {"small": [64, 256, 128, 10],
          "medium": [512, 1024, 1024, 1024, 10],
          "large": [1024, 4096, 4096, 10]}
HOOKS = {"fp16": fp16_compress_hook, "bf16": bf16_compress_hook}


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="small")
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="sgd")
    parser.add_argument("--backend", choices=["gloo", "nccl"])
    parser.add_argument("--device", help="cuda:0 or the like; the backend's if not given")
    parser.add_argument("--autocast", choices=["none", "bfloat16", "float16"], default="none")
    parser.add_argument("--power-sgd-rank", type=int, default=1)
    parser.add_argument("--power-sgd-forgetful", action="store_true")
    parser.add_argument("--hook", choices=[*HOOKS, "powersgd"], help="in which gradients are sent")
    parser.add_argument("--batch-norm", action="store_true")
    parser.add_argument("--rows", type=int, default=16, help="of each worker's batch")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--case", action="append", default=[], metavar="OPTIONS",
                        help="train with these options besides the others; again for each")
    return parser.parse_args(words)


def make_model(sizes, batch_norm):
    torch.manual_seed(0)
    layers = []
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        if i > 0 and batch_norm:
            layers.append(nn.BatchNorm1d(before))
        if i > 0:
            layers.append(nn.ReLU())
        layers.append(nn.Linear(before, after))
    return nn.Sequential(*layers)


def make_batches(pixels, rows, steps, device):
    """This rank's part of each step's batch."""
    world, rank = dist.get_world_size(), dist.get_rank()
    for step in range(steps):
        torch.manual_seed(1000 + step)
        images = torch.randn(rows * world, pixels)
        labels = torch.randint(10, (rows * world,))
        mine = slice(rows * rank, rows * (rank + 1))
        yield images[mine].to(device), labels[mine].to(device)


def train(arguments, device):
    sizes = MODELS[arguments.model]
    model = make_model(sizes, arguments.batch_norm).to(device)
    ddp = DistributedDataParallel(model, gradient_as_bucket_view=True)
    if arguments.hook == "powersgd":
        remembers = not arguments.power_sgd_forgetful
        state = powersgd.PowerSGDState(None, arguments.power_sgd_rank, 3,
                                       use_error_feedback=remembers, warm_start=remembers)
        ddp.register_comm_hook(state, powersgd.powerSGD_hook)
    elif arguments.hook:
        ddp.register_comm_hook(None, HOOKS[arguments.hook])
    if arguments.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    half = arguments.autocast == "float16"
    scaler = torch.amp.GradScaler(device.type, init_scale=1024, enabled=half)
    dtype = torch.float16 if half else torch.bfloat16
    batches = list(make_batches(sizes[0], arguments.rows, arguments.steps, device))
    dist.barrier()
    losses, step_ms = [], []
    for images, labels in batches:
        start = time.perf_counter()
        optimizer.zero_grad()
        autocast = (contextlib.nullcontext() if arguments.autocast == "none"
                    else torch.autocast(device.type, dtype))
        with autocast:
            loss = cross_entropy(ddp(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if device.type == "cuda":
            torch.cuda.synchronize()
        step_ms.append(1000 * (time.perf_counter() - start))
        losses.append(loss.detach().double())
    return torch.stack(losses), step_ms[arguments.warm_up:]


def report(arguments, device, backend, of_backend):
    losses, step_ms = train(arguments, device)
    losses = losses.to(of_backend)
    dist.all_reduce(losses)
    if dist.get_rank() == 0:
        print(json.dumps({"losses": (losses.cpu() / dist.get_world_size()).tolist(),
                          "step_ms": step_ms, "device": str(device), "backend": backend}))
    gc.collect()  # DDP is part of a cycle, and must be gone before its group


def main():
    arguments = parse_arguments(sys.argv[1:])
    torch.set_num_threads(1)
    backend = arguments.backend or ("nccl" if torch.cuda.is_available() else "gloo")
    of_backend = f"cuda:{os.environ['LOCAL_RANK']}" if backend == "nccl" else "cpu"
    device = torch.device(arguments.device or of_backend)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(backend)
    for case in arguments.case or [""]:
        report(parse_arguments([*sys.argv[1:], *shlex.split(case)]), device, backend, of_backend)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
