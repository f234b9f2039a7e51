"""Reports to the agent of ddprun how far this worker is.

The agent keeps a file in memory with a slot for each of its workers. DDPRUN_HEARTBEAT has the place of
this worker's: "PATH:SLOT". worker_sdk/contract/heartbeat_slot.hpp has the format: two entries take turns,
and a count tells which was written last, so that a reader never sees half of one.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from typing import Any, Optional

from ddprun._worker import HEARTBEAT

# HeartbeatSlot: a count of 8 bytes, then two entries of four numbers of 8 bytes each, then the number of
# steps that the whole training has, the agent's count of rounds, and the first heartbeat of a round: the
# count to which it belongs, its step and its time.
SLOT_BYTES = 128
COUNT = 0
FIRST_ENTRY = 1
NUMBERS = 4
STEP, LOSS, SAMPLES_PER_SECOND, TIME_NS = range(NUMBERS)
TOTAL_STEPS = FIRST_ENTRY + 2 * NUMBERS
ROUND, FIRST_ROUND, FIRST_STEP, FIRST_TIME_NS = range(TOTAL_STEPS + 1, TOTAL_STEPS + 5)

WINDOW_NS = 1_000_000_000
NO_LOSS = float("nan")


def _memory_of(address: str) -> Optional[memoryview]:
    """The slot that the variable names; None where there is none that this process can reach."""
    path, _, slot = address.rpartition(":")
    if not path or not (slot.isascii() and slot.isdigit()):
        return None
    begin = int(slot) * SLOT_BYTES
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # in a container of the worker's own, for example
        return None
    try:
        size = os.fstat(file).st_size
        if begin + SLOT_BYTES > size:
            return None
        return memoryview(mmap.mmap(file, size))[begin : begin + SLOT_BYTES]
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)


class Heart:
    """Writes heartbeats into one slot. Any thread may call beat()."""

    def __init__(self, address: Optional[str]) -> None:
        memory = _memory_of(address) if address else None
        # The same bytes, as whole numbers and as numbers with decimals. Each assignment is one store of
        # 8 bytes.
        self._integers = memory.cast("q") if memory is not None else None
        self._reals = memory.cast("d") if memory is not None else None
        self._lock = threading.Lock()
        self._fence = threading.Lock()
        self._fence.acquire()
        self._window_begin_ns: Optional[int] = None  # before the first heartbeat
        self._window_samples = 0
        self._has_full_window = False
        self._samples_per_second = 0.0

    @property
    def connected(self) -> bool:
        """Whether an agent reads the heartbeats."""
        return self._integers is not None

    def expect(self, steps: int) -> None:
        """Sets how many steps the whole training has."""
        if self._integers is not None:
            self._integers[TOTAL_STEPS] = steps

    def beat(self, now_ns: int, step: int, samples: int, loss: float) -> None:
        """Makes this the heartbeat that the agent sees; `now_ns` is of time.monotonic_ns()."""
        # No thread waits here: the one that holds the lock writes a heartbeat of the same moment. It may even
        # be this thread, if the handler of a signal sends a heartbeat.
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._update_rate(now_ns, samples)
            self._write(now_ns, step, loss)
        finally:
            self._lock.release()

    def _update_rate(self, now_ns: int, samples: int) -> None:
        """The mean over the last full window of time; before there is one, over the time since the first heartbeat.

        How long the step of the first heartbeat took is not known.
        """
        if self._window_begin_ns is None:
            self._window_begin_ns = now_ns
            return
        self._window_samples += samples
        took_ns = now_ns - self._window_begin_ns
        if took_ns <= 0 or (self._has_full_window and took_ns < WINDOW_NS):
            return
        self._samples_per_second = 1e9 * self._window_samples / took_ns
        if took_ns < WINDOW_NS:
            return
        self._has_full_window = True
        self._window_begin_ns = now_ns
        self._window_samples = 0

    def _write(self, now_ns: int, step: int, loss: float) -> None:
        assert self._integers is not None and self._reals is not None
        integers, reals = self._integers, self._reals
        following = integers[COUNT] + 1
        entry = FIRST_ENTRY + NUMBERS * (following % 2)
        integers[entry + STEP] = step
        reals[entry + LOSS] = loss
        reals[entry + SAMPLES_PER_SECOND] = self._samples_per_second
        integers[entry + TIME_NS] = now_ns
        round_of_agent = integers[ROUND]
        is_first = integers[FIRST_ROUND] != round_of_agent
        if is_first:
            integers[FIRST_STEP] = step
            integers[FIRST_TIME_NS] = now_ns
        # The count has to reach the memory behind the entry, also on processors that reorder stores.
        # Python has no fence; a lock's release and then its acquire are one.
        self._fence.release()
        self._fence.acquire()
        if is_first:
            integers[FIRST_ROUND] = round_of_agent
        integers[COUNT] = following


_heart: Optional[Heart] = None
_program_beats = False  # heartbeat() was called
_program_expects = False  # and has said how many steps there are


def heartbeat(step: int, loss: Optional[float] = None, samples: int = 0, steps: Optional[int] = None) -> None:
    """Reports to ddprun that a step is done. Call it after every step; it takes about a microsecond.

    When the worker fails, the report says how far it had come, even if it was killed: "last heartbeat: step
    120, loss 0.31, 1,234 samples/s, 0.4 s before".

    step: the number of the step. int() cuts off a fraction.
    loss: the loss of this step. May be a tensor with one element; reading it waits for its device.
    samples: how many samples this rank has processed in the step. Samples per second are their mean over
        the last second or more.
    steps: how many steps the whole training has. `ddprun status` then shows how much of it is done, and
        how long the rest takes.

    Without ddprun, or if the worker cannot reach the agent's memory, it does nothing, and ignores its
    arguments. The same holds in a process that a worker has forked, such as one of a data loader.

    Raises TypeError or ValueError for an argument that is not a number, or does not fit into 64 bits.
    """
    global _program_beats, _program_expects
    _program_beats = True
    _program_expects = _program_expects or steps is not None
    heart = _found_heart()
    if heart.connected:
        if steps is not None:
            heart.expect(int(steps))
        heart.beat(time.monotonic_ns(), int(step), int(samples), NO_LOSS if loss is None else _number(loss))


def expect_steps(steps: int) -> None:
    """The elastic loop knows how many steps the whole training has, unless the program has said so itself."""
    if not _program_expects:
        _found_heart().expect(steps)


def _number(loss: Any) -> float:
    """torch warns where a tensor that gradients flow through becomes a number."""
    return float(loss.detach() if hasattr(loss, "detach") else loss)


def step_done(step: int, samples: int = 0, loss: Any = None) -> None:
    """The elastic loop has counted a step. It is reported unless the program calls heartbeat() itself."""
    if not _program_beats:
        heart = _found_heart()
        if heart.connected:
            heart.beat(time.monotonic_ns(), step, samples, NO_LOSS if loss is None else _number(loss))


def _found_heart() -> Heart:
    global _heart
    if _heart is None:
        _heart = Heart(os.environ.get(HEARTBEAT))
    return _heart


def _in_child() -> None:
    """The slot stays the parent's. A child that is a worker itself, as with --warm, looks for its own."""
    global _heart
    if _heart is not None and _heart.connected:
        _heart = Heart(None)
    else:
        _heart = None


os.register_at_fork(after_in_child=_in_child)
