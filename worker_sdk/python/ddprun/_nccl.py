"""Frees a worker whose GPU waits in NCCL for other members: all communicators are aborted.

A kernel that waits for a member that is gone never ends, and the stream waits behind it. An abort ends the kernel, and
leaves garbage where its result would be, without an error: what lies behind it in the stream is computed from that. So
code that uses what members have reduced first waits for the GPU, and then asks whether the world goes on. Only the
line's thread aborts, and before it does, it reports that the world has ended.
"""

from __future__ import annotations

import os

BACKENDS = ("nccl", "cpu:gloo,cuda:nccl", "cuda:nccl,cpu:gloo")


def keep_process() -> None:
    """Called before a group is made: torch's watchdog would end this process when a member is lost. Else it sleeps for
    four times the time in which ranks are to write down what they did, a minute, and holds the group up meanwhile.

    An abort may hang where switches reduce (NVLS), so that is left out unless the variable asks for it.
    """
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"
    os.environ["TORCH_NCCL_DUMP_ON_TIMEOUT"] = "0"
    os.environ["TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"] = "1"
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")


def connect() -> None:
    """Makes the communicator of all members, which torch would make at its first use."""
    import torch.distributed

    torch.distributed.barrier(device_ids=[torch.cuda.current_device()])


def await_gpu() -> None:
    """Waits until the GPU has computed all that it was given, as far as the program's stream waits for it."""
    import torch

    torch.cuda.current_stream().synchronize()


def abort_groups() -> None:
    """Ends what the GPU waits for in any group. Any thread may call it, again and again."""
    from torch.distributed import distributed_c10d

    names = dict(distributed_c10d._world.pg_names)
    for group in sorted(names, key=lambda group: names[group], reverse=True):  # those within others first, as torch
        group.abort()


def forget_groups() -> None:
    """Removes all groups, whose members may be gone, and waits until the GPU does nothing for them any more."""
    import torch
    from torch.distributed import distributed_c10d

    abort_groups()
    torch.cuda.synchronize()  # an error of the GPU's own comes out here, and ends the process
    distributed_c10d._abort_process_group()
