"""Lets a Python training program report its progress to ddprun, and learn when to write a checkpoint.

ddprun starts, watches and restarts the workers of a distributed training job, as torchrun does. A program
runs under it without this module. With the module, a failure report says how far each worker had come, and
a checkpoint can be written before the scheduler ends the job:

    import ddprun

    ddprun.on_checkpoint_request(lambda: print("asked for a checkpoint"))
    for step, batch in enumerate(batches):
        loss = train(batch)
        ddprun.heartbeat(step, loss=loss, samples=len(batch))

The same program also runs without ddprun, under torchrun or in a notebook: heartbeats do nothing, the
restart count is torchrun's or 0, and any process may send the signal that asks for a checkpoint.

launch() starts a job from a script, a notebook or a test: it calls a function on all workers, and returns
what it returned there.

With ElasticRun and Batches, a training goes on in the middle of an epoch with another number of workers.
They import PyTorch when they need it. The rest of the module needs no other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddprun._checkpoint import checkpoint_requested, on_checkpoint_request
from ddprun._heartbeat import heartbeat
from ddprun._worker import restart_count

if TYPE_CHECKING:
    from ddprun._batches import Batches
    from ddprun._elastic import ElasticRun
    from ddprun._job import Job, LaunchError, launch, start
    from ddprun._world import World

__all__ = [
    "Batches",
    "ElasticRun",
    "Job",
    "LaunchError",
    "World",
    "checkpoint_requested",
    "heartbeat",
    "launch",
    "on_checkpoint_request",
    "restart_count",
    "start",
]


# Only programs that use these names wait for the modules behind them.
_LATER = {
    "Batches": "ddprun._batches",
    "ElasticRun": "ddprun._elastic",
    "World": "ddprun._world",
    "load_ipython_extension": "ddprun._notebook",
    **{name: "ddprun._job" for name in ("Job", "LaunchError", "launch", "start")},
}


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    if name != "__version__":
        raise AttributeError(f"module 'ddprun' has no attribute '{name}'")
    from importlib import metadata

    try:
        return metadata.version("ddprun")
    except metadata.PackageNotFoundError:  # used from a checkout
        return "unknown"
