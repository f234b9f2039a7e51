"""Whether ddprun has asked for a checkpoint, because the scheduler is about to end the job.

ddprun asks by a signal, whose number is in DDPRUN_CHECKPOINT_SIGNAL: SIGUSR1 unless its option
--checkpoint-signal names another one. worker_sdk/include/ddprun/checkpoint_request.hpp is the same for
C++.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType
from typing import Any, Callable, List, Optional, TypeVar

from ddprun._worker import CHECKPOINT_SIGNAL, whole_number

Function = TypeVar("Function", bound=Callable[[], object])


class _Request:
    def __init__(self) -> None:
        self.came = False
        self.listens = False
        self.functions: List[Callable[[], object]] = []
        self.process = os.getpid()  # whose functions they are
        self.previous: Any = None  # the handler that was there before this one

    def listen(self) -> None:
        """Installs the handler, once."""
        if self.listens:
            return
        number = whole_number(CHECKPOINT_SIGNAL, signal.SIGUSR1)
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(
                "the first call of ddprun.on_checkpoint_request() or ddprun.checkpoint_requested() must "
                "come from the main thread: Python lets no other one handle signals"
            )
        try:
            self.previous = signal.signal(number, self.handle)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{CHECKPOINT_SIGNAL} is '{number}', expected the number of a signal that can be handled"
            ) from error
        signal.siginterrupt(number, False)  # no system call of the training fails because of it
        self.process = os.getpid()
        self.listens = True

    def handle(self, number: int, frame: Optional[FrameType]) -> None:
        """The handler. It lets the one that was there before have the signal, too."""
        first, self.came = not self.came, True
        with contextlib.ExitStack() as then:  # one that raises does not keep the others from running
            if callable(self.previous):
                then.callback(self.previous, number, frame)
            if first and os.getpid() == self.process:
                for function in reversed(self.functions):
                    then.callback(function)


_request = _Request()


def on_checkpoint_request(fn: Function) -> Function:
    """Calls `fn` when the scheduler is about to end the job, and it is time for a checkpoint.

    Call it from the main thread, because it installs a signal handler.

    The workers then have the time that ddprun's option --preempt-timeout sets, 60 s by default. A worker
    that has written its checkpoint may exit, with any code: the job ends as preempted, with code 85, and
    goes on from the checkpoint when it is run again.

    `fn` takes no arguments and is called once, in the main thread, between two instructions of Python, as
    any signal handler is. So it should only set a flag, and the training loop should write the checkpoint
    between two steps. All ranks are asked at about the same time, but not in the same step: let them agree
    on one, for example by an all_reduce of checkpoint_requested() with MAX. `fn` is not called in a process
    that a worker has forked.

    Several functions are called in the order in which they were given. A function that is given after the
    request is called at once. A handler that was installed before is called after them. A handler that is
    installed later gets the signal instead, unless it calls this one. Without ddprun, SIGUSR1 from any
    other sender has the same effect.

    Returns `fn`, so that it may be used as a decorator. Raises TypeError if `fn` cannot be called,
    RuntimeError if the first call comes from another thread than the main one.
    """
    if not callable(fn):
        raise TypeError(f"on_checkpoint_request() takes a function, not {type(fn).__name__}")
    _request.listen()
    if _request.came:
        fn()
    else:
        _request.functions.append(fn)
    return fn


def checkpoint_requested() -> bool:
    """Returns whether ddprun has asked for a checkpoint since the first call. Once true, it stays true.

    Call it once before the training begins, from the main thread, so that no request is missed: from the
    first call on, the signal only counts as a request. Raises RuntimeError if the first call comes from
    another thread than the main one.
    """
    _request.listen()
    return _request.came
