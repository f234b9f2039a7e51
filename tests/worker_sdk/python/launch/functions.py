"""What the tests of ddprun.launch() run on workers."""

import os
import time
from pathlib import Path

RANK = int(os.environ.get("RANK", "-1"))


def place(*arguments):
    print(f"rank {RANK} says hello")
    return RANK, int(os.environ["WORLD_SIZE"]), arguments


def mean_rank():
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    value = torch.tensor([float(RANK)])
    dist.all_reduce(value)
    mean = value.item() / dist.get_world_size()
    dist.destroy_process_group()
    return mean


def fails_on(rank):
    if RANK == rank:
        raise KeyError("no such shard")
    time.sleep(600)


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raises_what_nobody_can_read():
    raise Unpicklable("one", "two")


def returns_what_cannot_be_sent():
    return (number for number in range(3))


def is_killed_on(rank):
    if RANK == rank:
        os.kill(os.getpid(), 9)
    time.sleep(600)


def leaves_on(rank):
    if RANK == rank:
        os._exit(0)


def fails_first():
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    if attempt == 0 and RANK == 1:
        raise RuntimeError("not yet")
    if attempt == 0:
        time.sleep(600)
    return RANK, attempt


def variable(name):
    return os.environ.get(name)


def runs_until_it_is_stopped(folder):
    Path(folder, f"runs_{RANK}").write_text(str(os.getpid()))
    time.sleep(600)


def returns_much(size):
    return bytes(size)


def fails_in_two_ways():
    if RANK == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        raise KeyError("at first")
    if RANK == 1:
        os.kill(os.getpid(), 9)
    time.sleep(600)


def answers_only_once():
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        if RANK == 0:
            return "early"
        time.sleep(2)
        raise RuntimeError("not yet")
    if RANK == 0:
        os._exit(0)
    return "late"


def exits_with(code):
    raise SystemExit(code)
