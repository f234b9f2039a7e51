"""A training whose state outlives its process group: one turn of a loop for each membership of the job.

`ElasticRun` has the state and `World` the members, the group and DDP of one turn. What may be done when is
decided by _membership.py, who gets which samples by _batches.py, and _state.py carries a state from one
member to others. A job has one world for as long as its workers are started anew with each round; a place
in a world comes from `_places()`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from datetime import timedelta
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Type

from ddprun import _state
from ddprun._batches import Batches
from ddprun._membership import Line, Loaded, Membership, choose_line, differing_parts
from ddprun._worker import RESTART_COUNT, ROUND, WORLD_SIZE, whole_number

RESERVED = ("step", "round")
TRANSFERS_MAX = 2  # attempts to carry a state


_worlds_before = itertools.count()


class Place(NamedTuple):
    """Where this worker is in a world, and the store in which its members meet."""

    round: int
    rank: int
    size: int
    store: Any


def _places(seconds: float) -> Iterator[Place]:
    """The places that this process has, one world after the other: the one that its launcher tells."""
    import torch.distributed
    from torch.distributed.rendezvous import rendezvous

    number = whole_number(ROUND, whole_number(RESTART_COUNT, 0))
    if WORLD_SIZE in os.environ:
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=seconds)))
    else:  # no launcher: alone
        store, rank, size = torch.distributed.HashStore(), 0, 1
    # torchrun's store may have keys of the attempts before, and this program may have had other worlds.
    prefix = f"ddprun/world/{number}.{next(_worlds_before)}"
    yield Place(number, rank, size, torch.distributed.PrefixStore(prefix, store))


class Meeting:
    """Members of a world agree on something over their store: each says a word, and rank 0 decides."""

    def __init__(self, place: Place, seconds: float) -> None:
        self._place = place
        self._seconds = seconds

    def agree(self, about: str, mine: Any, decide: Callable[[List[Any]], Dict[str, Any]]) -> Dict[str, Any]:
        """Returns the decision. Raises RuntimeError where it is a refusal, or somebody does not come."""
        keys = [f"{about}/{rank}" for rank in range(self._place.size)]
        store = self._place.store
        store.set(keys[self._place.rank], json.dumps(mine))
        if self._place.rank == 0:
            self._wait(keys, about)
            words = [json.loads(word) for word in store.multi_get(keys)]
            store.set(f"{about}/decision", json.dumps(decide(words)))
        self._wait([f"{about}/decision"], about)
        decision: Dict[str, Any] = json.loads(store.get(f"{about}/decision"))
        if "refused" in decision:
            raise RuntimeError(decision["refused"])
        return decision

    def _wait(self, keys: List[str], about: str) -> None:
        try:
            self._place.store.wait(keys, timedelta(seconds=self._seconds))
        except RuntimeError as error:
            missing = [key.rpartition("/")[2] for key in keys if not self._place.store.check([key])]
            what = "rank 0 has decided nothing" if "decision" in missing else f"rank {', '.join(missing)} did not come"
            raise RuntimeError(f"{what} within {self._seconds:g} s, while entering a world ({about})") from error


def _decide_line(words: List[Any]) -> Dict[str, Any]:
    members = [Loaded(*word) for word in words]
    refusal = differing_parts(members)
    if refusal:
        return {"refused": refusal}
    line = choose_line(members)
    return line._replace(sources=line.sources[:TRANSFERS_MAX])._asdict()


def _decide_digests(words: List[Any]) -> Dict[str, Any]:
    return {"equal": len({word for word in words if word}) == 1}


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

    parts: what belongs to the state, by name: whatever has state_dict() and load_state_dict(). A `Batches`
        among them is the place in the data.
    seed: seeds the generators of random numbers anew before each step, from this number, the step and the
        rank, so that a step which is done again draws the same numbers. None leaves them alone.

    Without a launcher there is one world, of this process.
    """

    def __init__(self, *, seed: Optional[int] = None, **parts: Any) -> None:
        self._seed = seed
        self._parts: Dict[str, Any] = {}
        self._membership = Membership()
        self._checked = False  # that all parts can travel
        for name, part in parts.items():
            self.keep(name, part)

    def keep(self, name: str, part: Any) -> None:
        """Adds a part to the state, before it is loaded and before the first world."""
        if name in self._parts or name in RESERVED:
            raise ValueError(f"'{name}' is the name of another part of the state")
        if not (hasattr(part, "state_dict") and hasattr(part, "load_state_dict")):
            raise TypeError(f"'{name}' is of the type {type(part).__name__}, which has no state_dict()")
        if isinstance(part, Batches) and self._batches is not None:
            raise ValueError(f"'{name}' is a second Batches: a run has one place in its data")
        if hasattr(part, "register_step_pre_hook"):
            part.register_step_pre_hook(lambda *_: self._membership.require_update("optimizer.step()"))
        self._parts[name] = part

    @property
    def step(self) -> int:
        """How many steps have been counted."""
        return self._membership.step

    @property
    def _batches(self) -> Optional[Batches]:
        return next((part for part in self._parts.values() if isinstance(part, Batches)), None)

    def state_dict(self) -> Dict[str, Any]:
        """The state, for torch.save(). Raises RuntimeError within an update."""
        self._membership.require_whole("state_dict()")
        states = {name: part.state_dict() for name, part in self._parts.items()}
        return {"step": self._membership.step, "round": self._membership.round, **states}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on from a state that was saved, before the first world.

        Workers may load different ones: those with a smaller step get the state of the greatest when they
        enter the world. Raises ValueError for a state of other parts.
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

        backend: as init_process_group() takes it. timeout: after how many seconds of waiting for other
        members the program fails.
        """
        import torch.distributed

        if torch.distributed.is_initialized():
            raise RuntimeError("each world makes its own process group: leave out init_process_group()")
        for place in _places(timeout):
            world = World(self, place, backend, timeout)
            yield world
            if not world._was_entered:
                raise RuntimeError("a world was not entered: use it as `with world:`")


class World:
    """One membership of the job: its process group is there within the `with` block.

    rank, size: as those of the group, and of torch.distributed within the block.
    last_part: whether the batch is the last one of its step.
    """

    def __init__(self, run: ElasticRun, place: Place, backend: Optional[str], timeout: float) -> None:
        self.rank, self.size = place.rank, place.size
        self.last_part = True
        self._run = run
        self._membership = run._membership
        self._place = place
        self._backend = backend
        self._timeout = timeout
        self._wrapped: List[Any] = []
        self._was_entered = False

    @property
    def parts(self) -> int:
        """How many batches of world.batches() make a step."""
        batches = self._run._batches
        return batches.parts if batches is not None else 1

    def __enter__(self) -> World:
        import torch.distributed

        self._membership.enter()
        self._was_entered = True
        torch.distributed.init_process_group(
            self._backend,
            store=torch.distributed.PrefixStore("group", self._place.store),
            rank=self.rank,
            world_size=self.size,
            timeout=timedelta(seconds=self._timeout),
        )
        try:
            self._synchronize(Meeting(self._place, self._timeout))
            if self._run._batches is not None:
                self._run._batches.deal(self.rank, self.size)
        except BaseException:
            self._take_down(orderly=False)
            raise
        self._membership.begin_training(self._place.round)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        import torch.distributed

        orderly = kind is None
        try:
            if orderly:  # behind it all know that all have counted the last step
                torch.distributed.barrier()
        except BaseException:
            orderly = False
            raise
        finally:
            self._take_down(orderly)

    def _take_down(self, orderly: bool) -> None:
        """Removes what DDP has hooked into the model, and the group, whoever still has the DDP object."""
        import torch.distributed

        self._membership.leave()
        for ddp in self._wrapped:
            ddp._remove_autograd_hooks()
            ddp.reducer = ddp.logger = ddp.process_group = None
        self._wrapped.clear()
        # Where a member is gone, destroying a group of NCCL may wait for it.
        if orderly or torch.distributed.get_backend() == "gloo":
            torch.distributed.destroy_process_group()

    def wrap(self, model: Any, **options: Any) -> Any:
        """Returns torch's DistributedDataParallel of the model, with its options, for this world."""
        from torch.nn.parallel import DistributedDataParallel

        self._membership.require_world("wrap()")
        ddp = DistributedDataParallel(model, **options)
        self._wrapped.append(ddp)
        return ddp

    def batches(self, loader: Any, *, steps: Optional[int] = None, epochs: Optional[int] = None) -> Iterator[Any]:
        """The batches of this worker, from behind the last counted step on, until the whole training ends.

        loader: a DataLoader whose batch_sampler is the run's Batches, or that Batches itself for lists of
        indices. steps, epochs: how many the whole training has, in all worlds together.

        A step has `world.parts` batches. Gradients are reduced with the last one, which world.last_part
        tells; divide the loss by world.parts, and update behind the last one.
        """
        batches = self._run._batches
        if batches is None or (loader is not batches and getattr(loader, "batch_sampler", None) is not batches):
            raise ValueError("world.batches() takes a DataLoader whose batch_sampler is the Batches of the run")
        return self._training(batches, iter(loader), steps, epochs)

    def _training(
        self, batches: Batches, source: Iterator[Any], steps: Optional[int], epochs: Optional[int]
    ) -> Iterator[Any]:
        while (steps is None or self._run.step < steps) and (epochs is None or batches.epoch < epochs):
            self._membership.require_world("world.batches()")
            step = self._run.step
            self._seed_step()
            for part in range(batches.parts):
                self.last_part = part + 1 == batches.parts
                for ddp in self._wrapped:
                    ddp.require_backward_grad_sync = self.last_part
                yield next(source)
            if self._run.step != step + 1:
                raise RuntimeError(f"step {step + 1} has passed without its world.update()")

    def _seed_step(self) -> None:
        if self._run._seed is None:
            return
        import random
        import sys

        import torch

        seed = _state.seed_of(self._run._seed, self._run.step, self.rank)
        # torch.manual_seed() would take half a millisecond where CUDA is not in use.
        torch.default_generator.manual_seed(seed)
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % 2**32)

    @contextlib.contextmanager
    def update(self) -> Iterator[None]:
        """What belongs to the state is changed in here: it counts as a whole, as one step.

        Every step has one, behind the backward pass of its last part. An exception within leaves the state
        torn: it can be neither saved nor trained on.
        """
        self._membership.begin_update(self.last_part)
        well = False
        try:
            for ddp in self._wrapped:
                ddp._check_reducer_finalized()
            yield
            well = True
        finally:
            self._membership.end_update(well)
        if self._run._batches is not None:
            self._run._batches.count_step()
        if not self._run._checked:  # the optimizer has a state only now
            _state.packed_parts(self._run._parts)
            self._run._checked = True

    def _synchronize(self, meeting: Meeting) -> None:
        """Gives all members the state with the greatest step."""
        mine = Loaded(self._run.step, sorted(self._run._parts))
        line = Line(**meeting.agree("loaded", mine, _decide_line))
        for attempt in range(TRANSFERS_MAX):
            if not line.lacking:
                return
            source = line.sources[attempt % len(line.sources)]
            if self._transfer(meeting, line, source, attempt):
                return
        raise RuntimeError(f"the state of step {line.step} came with another digest {TRANSFERS_MAX} times")

    def _transfer(self, meeting: Meeting, line: Line, source: int, attempt: int) -> bool:
        """Carries the state from `source` to all that lack it; returns whether all digests are equal."""
        import torch.distributed

        group = torch.distributed.new_group([source, *line.lacking], timeout=timedelta(seconds=self._timeout))
        tree, digest = None, None
        tensors: List[Any] = []
        if self.rank == source or self.rank in line.lacking:
            if self.rank == source:
                tree, tensors = _state.packed_parts(self._run._parts)
            on_gpu = torch.distributed.get_backend() == "nccl"
            device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
            courier = _state.Courier(group, source, self.rank == source, device)
            tree, tensors, digest = courier.carry(tree, tensors)
        equal = meeting.agree(f"digests of transfer {attempt}", digest, _decide_digests)["equal"]
        torch.distributed.destroy_process_group(group)
        if equal and self.rank in line.lacking:
            self._run._membership.load(self._place.round, line.step)
            for name, part in self._run._parts.items():
                part.load_state_dict(_state.unpack(tree[name], tensors))
        return bool(equal)
