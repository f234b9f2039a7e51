"""What the programs here print for the test to compare."""

import os
import sys

import torch
import torch.distributed as dist


def result(line):
    """The ranks may share one stdout, so a line and its end are written at once."""
    sys.stdout.write(f"RESULT {line}\n")
    sys.stdout.flush()


def end():
    """Destroys the group. torch 2.4 may hang in that: it waits for a thread of Gloo's that drops its last
    tensor, and for that the thread waits for Python's lock. (2.7 does not.) There the process just ends."""
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 7):
        os._exit(0)
    dist.destroy_process_group()


def checksum(tensors):
    """Tells sets of tensors apart, also those with the same values in another order."""
    total = 0.0
    for tensor in tensors:
        values = tensor.detach().double().flatten()
        total = 0.5 * total + sum((i % 7 + 1) * v for i, v in enumerate(values.tolist()))
    return f"{total:.6f}"
