"""The training of train_digits.cpp in stock PyTorch DDP.

    ddprun --standalone --nproc-per-node 2 --max-restarts 3 train_digits.py \
        --data digits.csv.gz --checkpoint-dir checkpoints
"""

import argparse
import gc
import gzip
import os
import signal
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import TensorDataset
from torch.utils.data.distributed import DistributedSampler

KEEP = 3


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--checkpoint-dir", required=True, type=Path)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=8, help="of each worker")
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def load_digits(path):
    """(train, test): four of five images, and every fifth."""
    with gzip.open(path, "rt") as file:
        table = torch.tensor([[float(number) for number in line.split(",")] for line in file])
    images, labels = table[:, :64].float() / 16, table[:, 64].long()
    is_test = torch.arange(len(table)) % 5 == 0
    return TensorDataset(images[~is_test], labels[~is_test]), (images[is_test], labels[is_test])


def save(folder, epoch, model, optimizer):
    """Atomically: a file with its final name is complete."""
    path = folder / f"checkpoint-{epoch:06d}.pt"
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb") as file:
        state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    for old in sorted(folder.glob("checkpoint-*.pt"))[:-KEEP]:
        old.unlink()


def resume(folder, model, optimizer, device):
    """The epoch to begin with; all ranks load the checkpoint that rank 0 sees as the newest."""
    newest = [max(folder.glob("checkpoint-*.pt"), default=None)]
    dist.broadcast_object_list(newest, src=0)
    if newest[0] is None:
        return 0
    state = torch.load(newest[0], map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if dist.get_rank() == 0:
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        print(f"resumed at epoch {state['epoch']} from {newest[0]} (attempt {attempt})")
    return state["epoch"]


class CheckpointRequest:
    """ddprun sends SIGUSR1 when the scheduler is about to end the job."""

    def __init__(self):
        self.came = False
        signal.signal(signal.SIGUSR1, lambda *_: setattr(self, "came", True))

    def agreed(self, device):
        """Whether any rank was asked; all ranks answer the same."""
        asked = torch.tensor(int(self.came), device=device)
        dist.all_reduce(asked, dist.ReduceOp.MAX)
        return bool(asked)


@torch.no_grad()
def accuracy(model, test, device):
    images, labels = test
    return (model(images.to(device)).argmax(1).cpu() == labels).double().mean().item()


def main():
    arguments = parse_arguments()
    request = CheckpointRequest()
    torch.set_num_threads(1)
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")

    train, test = load_digits(arguments.data)
    torch.manual_seed(arguments.seed)
    model = nn.Sequential(
        nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)
    ).to(device)
    ddp = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.lr)
    sampler = DistributedSampler(train, seed=arguments.seed)

    arguments.checkpoint_dir.mkdir(parents=True, exist_ok=True)
    first = resume(arguments.checkpoint_dir, model, optimizer, device)
    told_to_end = False
    start = time.monotonic()
    for epoch in range(first, arguments.epochs):
        epoch_start = time.monotonic()
        sampler.set_epoch(epoch)
        order = torch.tensor(list(sampler))
        losses = []
        for batch in order.split(arguments.batch_size):
            images, labels = train[batch]
            optimizer.zero_grad()
            loss = cross_entropy(ddp(images.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if dist.get_rank() == 0:
            save(arguments.checkpoint_dir, epoch + 1, model, optimizer)
            done, now = epoch + 1, time.monotonic()
            speed = len(order) * dist.get_world_size() / (now - epoch_start)
            left = int((now - start) / (done - first) * (arguments.epochs - done))
            print(
                f"epoch {done}/{arguments.epochs} loss {sum(losses) / len(losses):.4f} "
                f"accuracy {100 * accuracy(model, test, device):.1f} % "
                f"{speed:.0f} images/s {left // 60}:{left % 60:02d} left",
                flush=True,
            )
        told_to_end = request.agreed(device)
        if told_to_end:  # the checkpoint is written
            break
    dist.barrier()
    if dist.get_rank() == 0 and not told_to_end:
        print(f"final test accuracy {100 * accuracy(model, test, device):.1f} %")
    # A cycle of references keeps DDP alive past this function, and with it the group, whose threads
    # would then meet an interpreter that is shutting down and abort it.
    del ddp
    gc.collect()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
