"""One membership of a job: its process group, its DDP, its batches and what counts as a step."""

from __future__ import annotations

import os
import threading
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, ContextManager, Iterator, List, Optional, Set, Type

from ddprun import _nccl, _state
from ddprun._batches import Batches
from ddprun._heartbeat import expect_steps
from ddprun._light_copy import LightCopy
from ddprun._line import Entrance
from ddprun._meeting import (
    CHECK_STATE,
    TRANSFERS_MAX,
    Meeting,
    Place,
    decide_digests,
    decide_line,
    decide_whether_states_differ,
)
from ddprun._membership import ENTERING, Line, Loaded, WorldChanged
from ddprun._sockets import WorldSockets
from ddprun._update import Update

if TYPE_CHECKING:
    from ddprun._elastic import ElasticRun


def forget_unmade_group() -> None:
    """torch counts a group that it could not make, and gives the next one another name than its peers do."""
    from torch.distributed import distributed_c10d

    distributed_c10d._world.group_count = 0


class World:
    """One membership of the job. Its process group exists within the `with` block.

    rank, size: those of the group, and of torch.distributed within the block.
    last_part: whether the batch is the last one of its step.
    """

    def __init__(self, run: ElasticRun, place: Place, backend: Optional[str], timeout: float) -> None:
        self.rank, self.size = place.rank, place.size
        self.last_part = True
        self._run = run
        self._membership = run._membership
        self._place = place
        self._backend = backend
        self._frees_gpu = run._line is not None and backend in _nccl.BACKENDS
        self._timeout = timeout
        self._wrapped: List[Any] = []
        self._unfinished: Set[Any] = set()  # DDP modules whose forward pass has begun, and has not ended well
        self._was_used = False
        self._sockets = WorldSockets()
        self._is_left = threading.Event()
        self._light_copy: Optional[LightCopy] = None  # None: no step is ever dropped
        self._update = Update(self)
        self._entrance: Optional[Entrance] = None  # into the world that follows; None: none does

    @property
    def parts(self) -> int:
        """How many batches of world.batches() make a step."""
        batches = self._run._batches
        return batches.parts if batches is not None else 1

    def _enter(self) -> bool:
        """Meets the other members, and takes on the state that all begin with. Returns whether it is entered: its
        members may have changed meanwhile.
        """
        self._membership.require_size(self.size)
        with self._run._lock:
            self._membership.enter(self._place.round)
        try:
            self._membership.require_unchanged()
            self._meet()
            self._membership.require_unchanged()
        except BaseException as error:
            if self._is_changed_by(error):
                return False
            raise
        return True

    def _meet(self) -> None:
        import torch.distributed

        for module in self._run._modules():
            module.zero_grad(set_to_none=True)  # a step that was dropped may have left half of a sum
        store = self._place.meet(self._timeout)
        if self._frees_gpu:
            _nccl.keep_process()
        torch.distributed.init_process_group(
            self._backend,
            store=torch.distributed.PrefixStore("group", store),
            rank=self.rank,
            world_size=self.size,
            timeout=timedelta(seconds=self._timeout),
        )
        # A connection of NCCL's may end while all is well, and nothing that the GPU waits for ends well without its
        # members. So those are not asked whether somebody has hung up.
        if self._frees_gpu:
            _nccl.connect()
        else:
            self._sockets.note()
        meeting = Meeting(self._place, store, self._timeout)
        line = self._synchronize(meeting)
        if line.step > 0 and os.environ.get(CHECK_STATE):
            meeting.agree("states", _state.digest_of(self._run._parts), decide_whether_states_differ)
        if self._run._batches is not None:
            self._run._batches.deal(self.rank, self.size)
        if self._run._line is not None:
            self._light_copy = LightCopy(self._run._modules())
        self._run._begin_training(line.round)

    def __enter__(self) -> World:
        if self._is_left.is_set():
            raise RuntimeError("a world is over when its loop's turn is: use it as `with world:` there")
        self._was_used = True
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> bool:
        if error is not None:
            return self._is_changed_by(error)
        try:
            self._end_loop()
        except BaseException as lost:
            if self._is_changed_by(lost):
                return True
            raise
        self._take_down(orderly=True)
        return False

    def _end_loop(self) -> None:
        """Ends the training together with all members. Raises WorldChanged where they change before it has ended."""
        with self._run._lock:
            self._run._await_limit()  # after it, a held one knows that all are: none ends, all leave
            if not self._membership.end_loop():
                raise WorldChanged("the members change, and the training ends in the world that follows")
        self._meet_behind_last_step()
        if self._frees_gpu:
            self._membership.require_unchanged()

    def _meet_behind_last_step(self) -> None:
        """When it returns, all know that all have counted that step. On GPUs it may return before all have come, if the
        agent ends the world: so ask again then.
        """
        import torch.distributed

        torch.distributed.barrier()
        if self._frees_gpu:
            _nccl.await_gpu()

    def _is_changed_by(self, error: BaseException) -> bool:
        """Leaves the world. Returns whether the error comes from a change of its members, and this worker goes on."""
        line = self._run._line
        comes_from_change = line is not None and self._comes_from_change(error)
        self._take_down(orderly=self._leaves_in_order(error))
        if line is None or not comes_from_change:
            return False
        if self._light_copy is not None:
            self._light_copy.put_back()
        line.parked(self._place.round)
        self._entrance = line.await_entrance(lambda: self._membership.world_has_ended)
        return self._entrance is not None

    def _leaves_in_order(self, error: BaseException) -> bool:
        """Whether all members leave behind the same step, and have counted it.

        Otherwise slower members would take a member that hangs up right behind that step for lost, and would drop the
        step.
        """
        if not (isinstance(error, WorldChanged) and self._membership.leaves_in_order):
            return False
        try:
            self._meet_behind_last_step()
        except Exception:
            return False  # somebody was lost, so each one leaves by itself
        return self._membership.leaves_in_order

    def _comes_from_change(self, error: BaseException) -> bool:
        """Gloo's errors are plain RuntimeErrors, and may come before the agent has said anything."""
        import torch.distributed

        if isinstance(error, WorldChanged):
            return True
        if not isinstance(error, Exception):
            return False
        of_torch = getattr(torch.distributed, "DistError", WorldChanged)
        told = self._membership.is_told_to_leave
        return told or isinstance(error, of_torch) or self._sockets.hung_up()

    def _abandon(self) -> None:
        """The loop has ended, perhaps without having used this world."""
        if not self._is_left.is_set():
            self._take_down(orderly=False)

    def _free(self) -> None:
        """Called by the line's thread: this one may wait for a member that is gone."""
        is_entering = self._membership.place == ENTERING
        if is_entering:
            self._sockets.note()
        if self._frees_gpu:
            _nccl.abort_groups()
        self._sockets.shut_down()
        if is_entering and not self._frees_gpu:
            self._sockets.hang_up_for(self.size)

    def _take_down(self, orderly: bool) -> None:
        """Removes what DDP has hooked into the model, and the group, even if the program still has the DDP object."""
        import torch.distributed

        for ddp in self._wrapped:
            ddp._remove_autograd_hooks()
            ddp.reducer = ddp.logger = ddp.process_group = None
        self._wrapped.clear()
        self._unfinished.clear()
        if not orderly and (self._backend == "gloo" or self._frees_gpu):
            self._sockets.shut_down()  # closing is not enough: processes of a DataLoader hold them, too
        # Where a member is gone, destroying a group of NCCL may wait for it.
        if not torch.distributed.is_initialized():
            forget_unmade_group()
        elif self._frees_gpu and not orderly:
            _nccl.forget_groups()
        elif orderly or torch.distributed.get_backend() == "gloo":
            torch.distributed.destroy_process_group()
        self._membership.leave()
        self._is_left.set()
        self._sockets.close()

    def wrap(self, model: Any, **options: Any) -> Any:
        """Returns torch's DistributedDataParallel of the model, with its options, for this world."""
        from torch.nn.parallel import DistributedDataParallel

        self._membership.require_world("wrap()")
        ddp = DistributedDataParallel(model, **options)
        self._wrapped.append(ddp)
        if self._run._line is not None:
            ddp.register_forward_pre_hook(lambda module, _: self._unfinished.add(module))
            ddp.register_forward_hook(lambda module, *_: self._unfinished.discard(module))
        return ddp

    def batches(self, loader: Any, *, steps: Optional[int] = None, epochs: Optional[int] = None) -> Iterator[Any]:
        """The batches of this worker, beginning after the last counted step, until the whole training ends.

        loader: a DataLoader whose batch_sampler is the run's Batches, or that Batches itself for lists of
        indices. steps, epochs: how many the whole training has, in all worlds together.

        A step has `world.parts` batches. Divide the loss by world.parts. Gradients are reduced with the last
        batch, for which world.last_part is true; update after it.
        """
        batches = self._run._batches
        if batches is None or (loader is not batches and getattr(loader, "batch_sampler", None) is not batches):
            raise ValueError("world.batches() takes a DataLoader whose batch_sampler is the Batches of the run")
        self._expect(batches, steps, epochs)
        return self._training(batches, iter(loader), steps, epochs)

    def _expect(self, batches: Batches, steps: Optional[int], epochs: Optional[int]) -> None:
        """Lets `ddprun status` know how many steps there are. Epochs have more or fewer in a world of another size."""
        ends = [] if steps is None else [steps]
        if epochs is not None:
            ends.append(self._run.step + batches.steps_until(epochs))
        if ends:
            expect_steps(min(ends))

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

    def update(self, loss: Any = None) -> ContextManager[None]:
        """Change everything that belongs to the state inside this block: all changes count together, as one step.

        loss: the loss of the step, for `ddprun status`. May be a tensor with one element; reading it waits for its
        device. It is not shown if the program calls ddprun.heartbeat() itself.

        Every step has one block, after the backward pass of its last part. An exception inside leaves the state
        torn: it can be neither saved nor trained on.
        """
        self._update.loss = loss
        return self._update

    def _synchronize(self, meeting: Meeting) -> Line:
        """Gives all members the state that is the line, which it returns."""
        membership = self._membership
        mine = Loaded(membership.round, membership.step, membership.whole, sorted(self._run._parts))
        line = Line(**meeting.agree("loaded", mine, decide_line))
        for attempt in range(TRANSFERS_MAX):
            if not line.lacking:
                return line
            source = line.sources[attempt % len(line.sources)]
            if self._transfer(meeting, line, source, attempt):
                return line
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
        equal = meeting.agree(f"digests of transfer {attempt}", digest, decide_digests)["equal"]
        torch.distributed.destroy_process_group(group)
        if equal and self.rank in line.lacking:
            self._membership.load(line.round, line.step)
            for name, part in self._run._parts.items():
                part.load_state_dict(_state.unpack(tree[name], tensors))
        return bool(equal)
