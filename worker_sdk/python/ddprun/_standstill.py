"""Whether a worker that is to leave its world waits for the other members without an end.

Their connections are shut down, so each call that waits for them should fail. Now and then Gloo does not wake its
caller: 2 of 900 times under load, in UnboundBuffer::waitSend. Only the group's own timeout ends such a wait.
"""

from __future__ import annotations

import sys
import time
from types import FrameType
from typing import Optional

STUCK_S = 1.0  # a call that fails does so within milliseconds
RUNS_S = 0.01  # a thread that has run for this long does something
WAITING = {  # modules whose functions wait for other members
    "torch.autograd",
    "torch.autograd.graph",
    "torch.distributed.distributed_c10d",
    "torch.nn.parallel.distributed",
}


class Standstill:
    """Looks at one thread, again and again."""

    def __init__(self, thread: int) -> None:
        self._thread = thread
        self._clock = time.pthread_getcpuclockid(thread)
        self._since, self._ran = time.monotonic(), time.clock_gettime(self._clock)  # when it did something
        self._is_told = False

    def is_new(self) -> bool:
        """Whether the thread has stood still for STUCK_S; once."""
        now, ran = time.monotonic(), time.clock_gettime(self._clock)
        if ran - self._ran > RUNS_S or not waits_for_members(self._frame()):
            self._since, self._ran = now, ran
        if self._is_told or now - self._since < STUCK_S:
            return False
        self._is_told = True
        return True

    def _frame(self) -> Optional[FrameType]:
        return sys._current_frames().get(self._thread)


def waits_for_members(frame: Optional[FrameType]) -> bool:
    """Whether that innermost frame is torch's own, of what waits for other members."""
    return frame is not None and frame.f_globals.get("__name__") in WAITING
