"""What a Python training can tell ddprun, and be told by it.

ddprun starts, watches and restarts the workers of a distributed training, as torchrun does. A training
needs nothing of this module to run under it. With it, a failure report says how far each worker had
come, and a checkpoint is written before the scheduler ends the job:

    import ddprun

    ddprun.on_checkpoint_request(lambda: print("asked for a checkpoint"))
    for step, batch in enumerate(batches):
        loss = train(batch)
        ddprun.heartbeat(step, loss=loss, samples=len(batch))

Without ddprun, under torchrun or in a notebook, the same program runs: heartbeats go nowhere, the
restart count is torchrun's or 0, and the signal that asks for a checkpoint may be sent by anybody.

The module needs no other one, and no PyTorch.
"""

from __future__ import annotations

from ddprun._checkpoint import checkpoint_requested, on_checkpoint_request
from ddprun._heartbeat import heartbeat
from ddprun._worker import restart_count

__all__ = ["checkpoint_requested", "heartbeat", "on_checkpoint_request", "restart_count"]


def __getattr__(name: str) -> str:
    # Only who asks for the version waits for the module that knows it, which takes 20 ms to import.
    if name != "__version__":
        raise AttributeError(f"module 'ddprun' has no attribute '{name}'")
    from importlib import metadata

    try:
        return metadata.version("ddprun")
    except metadata.PackageNotFoundError:  # used from a checkout
        return "unknown"
