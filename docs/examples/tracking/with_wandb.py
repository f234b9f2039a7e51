"""One run of Weights & Biases over all restarts of a job:

    ddprun --nproc-per-node 2 --max-restarts 3 --rdzv-id digits-7 with_wandb.py

The id of the run is the job's name. In offline mode each start writes a folder of its own with this id, and
`wandb sync` makes one run of them. Steps since the last checkpoint are there twice, as they were done.

wandb's process keeps the last 32 KB in memory until the run is finished. So an end by SIGTERM, which comes when
another rank has failed, finishes it, too. If rank 0 itself is killed by SIGKILL, they are lost.
"""

import signal
import sys

import wandb
from training import train


def begin(job, first_step, restarts):
    run = wandb.init(project="ddprun", id=job, resume="allow")
    run.define_metric("*", step_metric="step")  # wandb's own step may not go back
    if restarts:
        run.log({"step": first_step, "restart": restarts})  # a point for each restart, where the training went on
        run.tags = (*(run.tags or ()), "restarted")
    return lambda step, loss: run.log({"step": step, "loss": loss})


signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
try:
    train(begin)
finally:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if wandb.run:  # only on rank 0
        wandb.run.finish(exit_code=1 if sys.exc_info()[0] else 0)
