"""What a worker may do when, which state it has, and who gives its state to whom. Pure.

A state is named by the round in which its last step was counted, and the number of that step. It is whole
between two updates, and torn from the begin of one to its end: an update that fails leaves it torn.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

OUTSIDE, ENTERING, TRAINING, UPDATING = "outside", "entering", "training", "updating"


class Membership:
    """Refuses, by a RuntimeError that says why, what cannot be done now."""

    def __init__(self) -> None:
        self.place = OUTSIDE
        self.round = 0
        self.step = 0
        self.whole = True

    def load(self, round_number: int, step: int) -> None:
        """The state was replaced by one that was saved, or that another worker has sent."""
        if self.place not in (OUTSIDE, ENTERING):
            raise RuntimeError("load_state_dict() within a world: load before the loop over run.worlds()")
        self.round, self.step, self.whole = round_number, step, True

    def enter(self) -> None:
        if self.place != OUTSIDE:
            raise RuntimeError("a world is entered within another one: one worker is in one world at a time")
        self.place = ENTERING

    def begin_training(self, round_number: int) -> None:
        """All members have the same step now, and name it by this round."""
        self.round, self.place = round_number, TRAINING

    def leave(self) -> None:
        self.place = OUTSIDE

    def require_world(self, what: str) -> None:
        if self.place not in (TRAINING, UPDATING):
            raise RuntimeError(f"{what} outside of its world: use it within `with world:`")

    def require_update(self, what: str) -> None:
        """Gradients are applied in an update alone, or a step could count on some workers only."""
        if self.place in (ENTERING, TRAINING):
            raise RuntimeError(f"{what} outside of `with world.update():`, where all of a step belongs")

    def begin_update(self, last_part: bool) -> None:
        self.require_world("update()")
        if self.place == UPDATING:
            raise RuntimeError("update() within an update: each step has one")
        if not self.whole:
            raise RuntimeError(f"update() after an update that has failed: the state of step {self.step} is torn")
        if not last_part:
            raise RuntimeError("update() before the last part of the step: ask world.last_part")
        self.place, self.whole = UPDATING, False

    def end_update(self, well: bool) -> None:
        self.place = TRAINING
        if well:
            self.step, self.whole = self.step + 1, True

    def require_whole(self, what: str) -> None:
        if not self.whole:
            raise RuntimeError(
                f"{what} in the middle of an update, or after one that has failed: the state of step "
                f"{self.step} is torn"
            )


class Loaded(NamedTuple):
    """What a member has when it enters: its step, and the names of the parts of its state."""

    step: int
    parts: Sequence[str]


class Line(NamedTuple):
    """The state that all members begin with: its step, who has it, and who has to get it."""

    step: int
    sources: List[int]
    lacking: List[int]


def differing_parts(members: Sequence[Loaded]) -> Optional[str]:
    """A sentence where members do not keep the same parts; None where they do."""
    for rank, member in enumerate(members):
        if list(member.parts) != list(members[0].parts):
            return (
                f"rank {rank} keeps the parts {', '.join(member.parts)}, and rank 0 keeps "
                f"{', '.join(members[0].parts)}: all workers run the same program"
            )
    return None


def choose_line(members: Sequence[Loaded]) -> Line:
    """The greatest step that a member has loaded."""
    step = max(member.step for member in members)
    having = [rank for rank, member in enumerate(members) if member.step == step]
    return Line(step, having, [rank for rank in range(len(members)) if rank not in set(having)])
