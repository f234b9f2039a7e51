"""A rank that does not reach a monitored barrier is named to the ranks that wait there."""

import re
from datetime import timedelta

import torch.distributed as dist

from results import result


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    dist.monitored_barrier(timeout=timedelta(seconds=60))
    result(f"rank {rank}: all passed the first barrier")

    # The late rank must stay alive until the others have given it up.
    store = dist.distributed_c10d._get_default_store()
    if rank == 1:
        store.wait(["given up"], timedelta(seconds=60))
        result(f"rank {rank}: late")
    else:
        try:
            dist.monitored_barrier(timeout=timedelta(seconds=1))
            result(f"rank {rank}: passed the second barrier")
        except RuntimeError as error:
            reason = re.search(r"Ranks? [\d, ]+ failed to pass monitoredBarrier in \d+ ms", str(error))
            result(f"rank {rank}: {reason.group() if reason else error}")
        store.set("given up", "yes")
    dist.destroy_process_group()


main()
