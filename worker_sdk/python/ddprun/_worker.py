"""This worker's place in its job, from the variables that its launcher has set."""

from __future__ import annotations

import os

# The names are those of worker_sdk/include/ddprun/worker_env.hpp, which a test compares.
RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT"
ROUND = "DDPRUN_ROUND"
RANK = "RANK"
WORLD_SIZE = "WORLD_SIZE"
HEARTBEAT = "DDPRUN_HEARTBEAT"
CONTROL = "DDPRUN_CONTROL"
PARKED = "DDPRUN_PARKED"
CHECKPOINT_SIGNAL = "DDPRUN_CHECKPOINT_SIGNAL"


def whole_number(name: str, otherwise: int) -> int:
    """Returns the variable `name` as a number; `otherwise` where it is not set, or empty.

    Raises ValueError, with the name and the value, for a text that is no whole number from 0 up.
    """
    text = os.environ.get(name, "")
    if not text:
        return otherwise
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{name} is '{text}', expected a whole number from 0 up")
    return int(text)


def restart_count() -> int:
    """Returns how often the workers of this job have been restarted after a failure.

    It is 0 in the first attempt, and if no launcher has set TORCHELASTIC_RESTART_COUNT. A new round that
    begins because a node joined or was lost does not count.

    Raises ValueError if the variable is not a whole number.
    """
    return whole_number(RESTART_COUNT, 0)
