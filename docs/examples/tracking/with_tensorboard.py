"""One run of TensorBoard over all restarts of a job:

    ddprun --nproc-per-node 2 --max-restarts 3 --rdzv-id digits-7 with_tensorboard.py
    tensorboard --logdir runs

Each start writes a file of its own into the same folder. With `purge_step`, TensorBoard leaves out what was logged for
steps that are done again. On several nodes the folder has to be shared, because rank 0 may move.
"""

from torch.utils.tensorboard import SummaryWriter
from training import train


def begin(job, first_step, restarts):
    writer = SummaryWriter(f"runs/{job}", purge_step=first_step + 1 if restarts else None, flush_secs=5)
    if restarts:
        writer.add_scalar("restart", restarts, first_step + 1)  # a point for each restart, where the training went on
        writer.add_text("restart", f"restart {restarts}, after step {first_step}", first_step + 1)
    return lambda step, loss: writer.add_scalar("loss", loss, step)


train(begin)
