"""What a worker may do when, which state it has, and who gives its state to whom. Pure.

A state is named by the round in which its last step was counted, and the number of that step. The number alone
is not enough: a worker that was cut off may have counted a step that the others have counted again. A state is
whole between two updates, and torn from the beginning of one to its end: an update that fails leaves it torn.

If no member is lost, members change without dropping a step: each one is held, and reports how many steps it has
counted. The greatest of these numbers plus one is the limit. No member begins that step before all know the limit, so
all leave their world right behind it, at the same place of their program. A worker that is to enter that world, but has
not yet, answers when it begins to train there: it has a state then, and no member has counted a step without it.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence

OUTSIDE, ENTERING, TRAINING, UPDATING, ENDING = "outside", "entering", "training", "updating", "ending"


class WorldChanged(BaseException):
    """The members of the job change, so the step that is in progress does not count on any of them.

    It is not an Exception, so that a program that goes on after any error does not go on after this one.
    """


class Membership:
    """Refuses, by a RuntimeError that says why, what cannot be done now."""

    def __init__(self, resize: bool = True) -> None:
        self.resize = resize  # whether worlds may differ in their number of members
        self.size: Optional[int] = None  # the first world's; None: there was none
        self.place = OUTSIDE
        self.world = -1  # the round of the world that was entered last
        self.left = -1  # the greatest round that the agent has ended
        self.held = -1  # the answer when this world was held; -1: it is not
        self.asked = -1  # the round in which it is to be held as soon as it trains there; -1: none
        self.limit: Optional[int] = None  # the last step of this world; None: it has none
        self.loop_is_over = False  # the program's, while this world was held
        self.round = 0
        self.step = 0
        self.whole = True

    @property
    def world_has_ended(self) -> bool:
        """Whether the world that was entered last is to be left, or was."""
        return self.left >= self.world or self._has_come_to_its_end

    @property
    def has_to_leave(self) -> bool:
        return self.place != OUTSIDE and self.world_has_ended

    @property
    def is_told_to_leave(self) -> bool:
        """Whether that is because the agent has ended the world: its members may not come any more."""
        return self.place != OUTSIDE and self.left >= self.world

    @property
    def leaves_in_order(self) -> bool:
        """Whether that world ends behind its last step, with all of its members, and not because the agent ended it."""
        return self.left < self.world and self._has_come_to_its_end

    @property
    def is_held(self) -> bool:
        """Whether an update has to wait: how far this world goes is being asked."""
        return self.place != OUTSIDE and self.held >= 0 and self.limit is None and not self.world_has_ended

    @property
    def _has_come_to_its_end(self) -> bool:
        return self.loop_is_over or (self.limit is not None and self.step >= self.limit)

    def load(self, round_number: int, step: int) -> None:
        """The state was replaced by one that was saved, or that another worker has sent."""
        if self.place not in (OUTSIDE, ENTERING):
            raise RuntimeError("load_state_dict() within a world: load before the loop over run.worlds()")
        self.round, self.step, self.whole = round_number, step, True

    def require_size(self, size: int) -> None:
        """A world of `size` members is about to be entered."""
        if self.size is None:
            self.size = size
        if not self.resize and size != self.size:
            raise RuntimeError(
                f"a world of {size} workers follows one of {self.size}, and ElasticRun(resize=False) keeps its number "
                "of workers: restart all of them from the checkpoint, as `ddprun --no-in-place` does"
            )

    def enter(self, round_number: int) -> None:
        if self.place != OUTSIDE:
            raise RuntimeError("a world is entered within another one: one worker is in one world at a time")
        self.place, self.world = ENTERING, round_number
        self.held, self.limit, self.loop_is_over = -1, None, False

    def begin_training(self, line_round: int) -> Optional[int]:
        """All members have the line now, and name what follows by this round.

        Each job counts its rounds from the beginning, but the numbers of states go on. Returns the answer that hold()
        owes, which is to be sent; None: it owes none.
        """
        self.round, self.place = max(self.world, line_round + 1), TRAINING
        if self.asked != self.world or self.left >= self.world:
            return None
        self.asked = -1
        return self.hold(self.world)

    def end_round(self, round_number: int) -> None:
        """The members of that round change. An update in progress still counts, because it has all of its gradients."""
        self.left = max(self.left, round_number)

    def hold(self, round_number: int) -> Optional[int]:
        """The members of that round are about to change, and none is lost. No further update begins until the agent
        has sent how far they go.

        Returns how many steps this worker has counted, with the one that it is counting; asked again, the same. -1:
        it does not train in that round any more, and nothing is held. None: not yet, and begin_training() answers.
        """
        if self._is_to_train_in(round_number):
            self.asked = round_number
            return None
        if round_number == self.world and self.held < 0 and self.place in (TRAINING, UPDATING):
            self.held = self.step + (1 if self.place == UPDATING else 0)
        return self.held if round_number == self.world else -1

    def _is_to_train_in(self, round_number: int) -> bool:
        """Whether this worker is about to enter that round, or enters it."""
        if self.place == ENDING or self.left >= round_number:
            return False
        return round_number > self.world or (round_number == self.world and self.place == ENTERING)

    def end_hold(self) -> None:
        """No order will come: a held worker leaves this world at once, and one that owes an answer is not held."""
        self.asked = -1
        if self.is_held:
            self.end_round(self.world)

    def leave_after(self, round_number: int, step: int) -> None:
        """A worker that is held in that round goes on, and leaves it when that step is counted."""
        if round_number == self.world and self.held >= 0:
            self.limit = step

    def end_loop(self) -> bool:
        """The program has no further step to do. Returns whether the training is over. A worker that is held leaves
        instead, and ends in the world that follows, so that a worker that enters that world gets the last state.
        """
        if self.held >= 0:
            self.loop_is_over = True
            return False
        self.place = ENDING
        return True

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
        if self.place not in (OUTSIDE, UPDATING):
            raise RuntimeError(f"{what} outside of `with world.update():`, where all of a step belongs")

    def begin_update(self, last_part: bool) -> None:
        # This is on the way of each step, and in nearly all of them there is nothing to look at closely.
        if self.place != TRAINING or self.left >= self.world or self.held >= 0 or not (self.whole and last_part):
            self._require_beginning(last_part)
        self.place, self.whole = UPDATING, False

    def _require_beginning(self, last_part: bool) -> None:
        if self.place == UPDATING:
            raise RuntimeError("update() within an update: each step has one")
        self.require_world("update()")
        if not self.whole:
            raise RuntimeError(f"update() after an update that has failed: the state of step {self.step} is torn")
        if not last_part:
            raise RuntimeError("update() before the last part of the step: ask world.last_part")
        if self.is_held:
            raise RuntimeError(f"an update begins while round {self.world} is held: wait until it is not")

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
    """The whole state with the greatest name, of the round first; None where no member has a whole one, or where an
    update has failed on all that had a greater one: a newcomer's first step is not to replace what is in a checkpoint.

    The members of the round before have parked, or are dead, so none of them counts a step any more. A member
    whose state has exactly that name has exactly that state.
    """
    names = [(member.round, member.step) for member in members if member.whole]
    if not names:
        return None
    line = max(names)
    if any((member.round, member.step) > line for member in members):
        return None  # that one is torn
    having = [rank for rank, member in enumerate(members) if member.whole and (member.round, member.step) == line]
    return Line(*line, having, [rank for rank in range(len(members)) if rank not in set(having)])
