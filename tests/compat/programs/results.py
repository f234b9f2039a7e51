"""What the programs here print for the test to compare."""

import os
import sys

import torch
import torch.distributed as dist


def result(line):
    """The ranks may share one stdout, so a line and its end are written at once."""
    sys.stdout.write(f"RESULT {line}\n")
    sys.stdout.flush()


def end(group_stays=False):
    """Destroys the group. torch 2.4 and 2.7 may hang in that, under torchrun as well: they wait for a thread
    of Gloo's that drops its last tensor, and for that the thread waits for Python's lock, which they hold.
    There the process just ends. (2.11 was not seen to hang.)

    group_stays: caches of DTensor's still hold the group, and with it the threads of Gloo's. Python 3.11 aborts
    if one of these drops its last tensor while it shuts down, with any launcher: there the process just ends, too."""
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11):
        os._exit(0)
    dist.destroy_process_group()
    if group_stays:
        os._exit(0)


def checksum(tensors):
    """Tells sets of tensors apart, also those with the same values in another order."""
    total = 0.0
    for tensor in tensors:
        values = tensor.detach().double().flatten()
        total = 0.5 * total + sum((i % 7 + 1) * v for i, v in enumerate(values.tolist()))
    return f"{total:.6f}"
