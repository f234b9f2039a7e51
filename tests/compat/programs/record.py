"""Fails with an exception that torch records in the error file."""

from torch.distributed.elastic.multiprocessing.errors import record


@record
def main():
    raise RuntimeError("the disk is full")


main()
