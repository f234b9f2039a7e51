"""A training whose state outlives its process group: one turn of a loop for each membership of the job.

`ElasticRun` has the state, and `World` (_world.py) the members, the group and DDP of one turn. _membership.py decides
what may be done when, _batches.py decides which worker gets which samples, and _state.py carries a state from one
member to others. _line.py hears from the agent when members change. _sockets.py and _nccl.py then free a worker that
waits for these members, and _standstill.py sees whether it is freed. Without an agent there is one world for each
start of the workers.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Dict, Iterator, List, Optional

from ddprun import _nccl
from ddprun._batches import Batches
from ddprun._line import NO_ROUND, AgentLine, Orders
from ddprun._meeting import Place
from ddprun._membership import Membership
from ddprun._standstill import Standstill
from ddprun._worker import PARKED
from ddprun._world import World

RESERVED = ("step", "round")
FREEING_S = 0.02  # until a worker that is about to enter is freed once more: its connections may only just appear


class ElasticRun:
    """The state of a training, which its members have in common, and the worlds that it passes through.

        run = ddprun.ElasticRun(model=model, optimizer=optimizer, batches=batches)
        if os.path.exists("run.pt"):
            run.load_state_dict(torch.load("run.pt"))
        for world in run.worlds("gloo"):
            with world:
                ddp = world.wrap(model)
                for images, labels in world.batches(loader, steps=1000):
                    cross_entropy(ddp(images), labels).backward()
                    with world.update():
                        optimizer.step()
                        optimizer.zero_grad()

    parts: what belongs to the state, by name: any object with state_dict() and load_state_dict(). A `Batches`
        among them is the place in the data.
    seed: seeds the generators of random numbers before each step, from this number, the step and the rank, so
        that a repeated step draws the same numbers. None leaves the generators alone.
    resize: whether the training can go on in place with another number of workers. Pass False if the state fits
        one number of workers only, for example that of a sharded model. The training then goes on in place only
        with the same number. Otherwise all workers restart from the checkpoint.

    Without a launcher there is one world, which consists of this process.
    """

    def __init__(self, *, seed: Optional[int] = None, resize: bool = True, **parts: Any) -> None:
        self._seed = seed
        self._parts: Dict[str, Any] = {}
        self._batches: Optional[Batches] = None  # the one among the parts
        self._membership = Membership(resize)
        self._checked = False  # that all parts can travel
        self._line: Optional[AgentLine] = None  # None: workers are restarted when members change
        self._lock = threading.RLock()  # the line's thread and this one agree on whether an update begins
        self._told = threading.Condition(self._lock)  # the agent has said something
        self._world: Optional[World] = None  # the one that is entered, or was last
        self._thread = 0  # the one that passes through the worlds
        for name, part in parts.items():
            self.keep(name, part)

    def keep(self, name: str, part: Any) -> None:
        """Adds a part to the state, before it is loaded and before the first world."""
        if name in self._parts or name in RESERVED:
            raise ValueError(f"'{name}' is the name of another part of the state")
        if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
            raise TypeError(f"'{name}' is of the type {type(part).__name__}, which has no state_dict()")
        if isinstance(part, Batches):
            if self._batches is not None:
                raise ValueError(f"'{name}' is a second Batches: a run has one place in its data")
            self._batches = part
        if hasattr(part, "register_step_pre_hook"):
            part.register_step_pre_hook(lambda *_: self._membership.require_update("optimizer.step()"))
        self._parts[name] = part

    @property
    def step(self) -> int:
        """How many steps have been counted."""
        return self._membership.step

    def state_dict(self) -> Dict[str, Any]:
        """The state, for torch.save(). Raises RuntimeError within an update."""
        self._membership.require_whole("state_dict()")
        states = {name: part.state_dict() for name, part in self._parts.items()}
        return {"step": self._membership.step, "round": self._membership.round, **states}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on from a saved state. Call it before the first world.

        Workers may load different states: workers with a smaller step receive the state of the worker with the
        greatest one when they enter the world. Raises ValueError for a state of other parts.
        """
        names = {"step", "round", *self._parts}
        if set(state) != names:
            differing = ", ".join(sorted(names.symmetric_difference(state)))
            raise ValueError(f"the state and this run differ in their parts: {differing}")
        if not all(type(state[name]) is int and state[name] >= 0 for name in RESERVED):
            raise ValueError(f"the state is of step {state['step']!r} and round {state['round']!r}, expected numbers")
        self._membership.load(state["round"], state["step"])
        for name, part in self._parts.items():
            part.load_state_dict(state[name])

    def worlds(self, backend: Optional[str] = None, timeout: float = 600.0) -> Iterator[World]:
        """One turn for each membership of the job. Use each world as `with world:`.

        backend: as for init_process_group(). timeout: the program fails if it waits for other members for more
        seconds than this. Raises RuntimeError for a world of another size if the run has resize=False.
        """
        import torch.distributed

        if torch.distributed.is_initialized():
            raise RuntimeError("each world makes its own process group: leave out init_process_group()")
        place = Place.of_environment()
        self._thread = threading.get_ident()
        if backend == "gloo" or backend in _nccl.BACKENDS:  # a worker that waits in them can be freed
            begins_parked = os.environ.pop(PARKED, "") != ""
            orders = Orders(self._hold, self._leave_after, self._end_world, self._end_hold)
            first_round = NO_ROUND if begins_parked else place.round
            self._line = AgentLine.connect(first_round, self._membership.resize, orders)
            if begins_parked:
                place = self._first_place()
        try:
            while True:
                world = self._world = World(self, place, backend, timeout)
                if world._enter():
                    yield world
                    if not world._was_used:
                        raise RuntimeError("a world was not entered: use it as `with world:`")
                if world._entrance is None:
                    return
                os.environ.update(world._entrance.environment)
                place = Place.of_environment()
        finally:
            if self._world is not None:
                self._world._abandon()
            if self._line is not None:
                self._line.close()

    def _first_place(self) -> Place:
        """The place of a worker that was started beside a round: in the round that its agent lets it enter."""
        if self._line is None:
            raise RuntimeError("this worker was started beside a round, and its agent does not answer")
        os.environ.update(self._line.first_entrance().environment)
        return Place.of_environment()

    def _await_limit(self) -> None:
        """With the lock, which is free meanwhile: waits while this worker is held."""
        if self._membership.held >= 0:
            self._told.wait_for(lambda: not self._membership.is_held)

    def _hold(self, round_number: int) -> Optional[int]:
        with self._lock:
            return self._membership.hold(round_number)

    def _begin_training(self, line_round: int) -> None:
        """Either this one answers a question about the world that is entered, or the line's thread does."""
        with self._lock:
            owed = self._membership.begin_training(line_round)
        if owed is not None and self._line is not None:
            self._line.holding(self._membership.world, owed)

    def _leave_after(self, round_number: int, step: int) -> None:
        with self._lock:
            self._membership.leave_after(round_number, step)
            self._told.notify_all()

    def _end_hold(self) -> None:
        """The agent has gone, and no other process knows how far this world goes."""
        with self._lock:
            self._membership.end_hold()
            self._told.notify_all()

    def _end_world(self, line: AgentLine, round_number: int) -> None:
        """The members of that round change. The line's thread frees this one from waiting for them."""
        with self._lock:
            self._membership.end_round(round_number)
            self._told.notify_all()
        standstill = Standstill(self._thread)
        while (world := self._world) and self._membership.is_told_to_leave and not world._is_left.is_set():
            world._free()
            world._is_left.wait(FREEING_S)
            if standstill.is_new():
                line.stuck(round_number)

    def _modules(self) -> List[Any]:
        return [part for part in self._parts.values() if hasattr(part, "buffers") and hasattr(part, "zero_grad")]
