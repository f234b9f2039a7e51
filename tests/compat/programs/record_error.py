"""One rank raises, another one would work on for long: the job fails, and its report has the reason."""

import os
import time

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

from results import result


@record
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    result(f"rank {rank}: has a file for its error: {'TORCHELASTIC_ERROR_FILE' in os.environ}")
    dist.barrier()
    if rank == 1:
        raise ValueError("no such batch")
    time.sleep(1000)


main()
