"""Two programs that wait for each other take turns: each stands still while the other one works. So the time of
one is what it would take if the other ran on machines of its own."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.common import now

LOOK_EVERY_S = 0.002


def is_asleep(pid):
    """Whether all threads of a process wait for something."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] != "S":
                return False
    return True


def work_until_asleep(pid):
    """Lets a process go on until it waits for somebody, and stops it: how long it worked, in seconds."""
    start = now()
    os.kill(pid, signal.SIGCONT)
    asleep_since = None
    while True:
        time.sleep(LOOK_EVERY_S)
        if not is_asleep(pid):
            asleep_since = None
        elif asleep_since is None:
            asleep_since = now()
        else:  # a second look: the first may have fallen between two threads that hand over work
            break
    os.kill(pid, signal.SIGSTOP)
    return asleep_since - start


@contextmanager
def before_all_others():
    """Lets this process look in time, also when the others have real-time priority and all cores."""
    usual = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(20))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *usual)


def working_time(worker, other, is_done):
    """How long the process `worker`, which is stopped, works until is_done(), in seconds: `other` works in between,
    and asks it for more. Both go on when that is known."""
    seconds = 0
    while True:
        work_until_asleep(other)
        if is_done():
            break
        seconds += work_until_asleep(worker)
    for pid in (worker, other):
        os.kill(pid, signal.SIGCONT)
    return seconds
