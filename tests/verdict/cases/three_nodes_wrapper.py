# A trainer logs whatever is raised and exits with code 1; it began on the third node.
# kind: exception
# nodes: 3
# workers: 1
# ranks: 2
# type: ValueError
# message: a batch of no samples
# exit_code: 1
# needs: torch
# followers: 0,1
import logging
import sys

import torch
import torch.distributed as dist

logging.basicConfig(format="%(asctime)s %(name)s %(levelname)s %(message)s")


def collate(samples):
    if not samples:
        raise ValueError("a batch of no samples")  # HERE
    return torch.stack(samples)


def train_step():
    batch = collate([] if dist.get_rank() == 2 else [torch.ones(3)])
    dist.all_reduce(batch)


class Trainer:
    def fit(self, step):
        try:
            step()
        except Exception:
            logging.getLogger("trainer").exception("training failed on rank %d", dist.get_rank())
            sys.exit(1)


dist.init_process_group("gloo")
dist.barrier()
Trainer().fit(train_step)
