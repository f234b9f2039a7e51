"""What a worker may do when, which state it has, and who gives its state to whom. Pure.

A state is named by the round in which its last step was counted, and the number of that step. The number alone
is not enough: a worker that was cut off may have counted a step that the others have counted anew. A state is
whole between two updates, and torn from the begin of one to its end: an update that fails leaves it torn.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

OUTSIDE, ENTERING, TRAINING, UPDATING = "outside", "entering", "training", "updating"


class WorldChanged(BaseException):
    """The members of the job change, so the step that is under way counts on nobody.

    It is none of Exception, so that a program that goes on after any error does not go on after this one.
    """


class Membership:
    """Refuses, by a RuntimeError that says why, what cannot be done now."""

    def __init__(self) -> None:
        self.place = OUTSIDE
        self.world = -1  # the round of the world that was entered last
        self.left = -1  # the greatest round that was told to end
        self.round = 0
        self.step = 0
        self.whole = True

    @property
    def world_has_ended(self) -> bool:
        """Whether the world that was entered last was told to end."""
        return self.left >= self.world

    @property
    def has_to_leave(self) -> bool:
        return self.place != OUTSIDE and self.world_has_ended

    def load(self, round_number: int, step: int) -> None:
        """The state was replaced by one that was saved, or that another worker has sent."""
        if self.place not in (OUTSIDE, ENTERING):
            raise RuntimeError("load_state_dict() within a world: load before the loop over run.worlds()")
        self.round, self.step, self.whole = round_number, step, True

    def enter(self, round_number: int) -> None:
        if self.place != OUTSIDE:
            raise RuntimeError("a world is entered within another one: one worker is in one world at a time")
        self.place, self.world = ENTERING, round_number

    def begin_training(self, line_round: int) -> None:
        """All members have the line now, and name what follows by this round.

        Numbers of rounds begin anew with each job, and those of states go on.
        """
        self.round, self.place = max(self.world, line_round + 1), TRAINING

    def end_round(self, round_number: int) -> None:
        """The members of that round change. An update that is under way counts still: its gradients are all there."""
        self.left = max(self.left, round_number)

    def leave(self) -> None:
        self.place = OUTSIDE

    def require_world(self, what: str) -> None:
        if self.place not in (TRAINING, UPDATING):
            raise RuntimeError(f"{what} outside of its world: use it within `with world:`")
        self.require_unchanged()

    def require_unchanged(self) -> None:
        if self.has_to_leave:
            raise WorldChanged(f"the members of round {self.world} change")

    def require_update(self, what: str) -> None:
        """Gradients are applied in an update alone, or a step could count on some workers only."""
        if self.place in (ENTERING, TRAINING):
            raise RuntimeError(f"{what} outside of `with world.update():`, where all of a step belongs")

    def begin_update(self, last_part: bool) -> None:
        if self.place == UPDATING:
            raise RuntimeError("update() within an update: each step has one")
        self.require_world("update()")
        if not self.whole:
            raise RuntimeError(f"update() after an update that has failed: the state of step {self.step} is torn")
        if not last_part:
            raise RuntimeError("update() before the last part of the step: ask world.last_part")
        self.place, self.whole = UPDATING, False

    def drop_update(self) -> None:
        """It is refused before it has changed anything."""
        self.place, self.whole = TRAINING, True

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
    """What a member has when it enters: the name of its state, the names of its parts, and whether it is whole."""

    round: int
    step: int
    whole: bool
    parts: Sequence[str]


class Line(NamedTuple):
    """The state that all members begin with: its name, who has it, and who has to get it."""

    round: int
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


def choose_line(members: Sequence[Loaded]) -> Optional[Line]:
    """The whole state with the greatest name, of the round first; None where no member has a whole one.

    The members of the round before have parked, or are dead, so none of them counts a step any more, and who has
    exactly that name has exactly that state.
    """
    names = [(member.round, member.step) for member in members if member.whole]
    if not names:
        return None
    line = max(names)
    having = [rank for rank, member in enumerate(members) if member.whole and (member.round, member.step) == line]
    return Line(*line, having, [rank for rank in range(len(members)) if rank not in set(having)])
