"""What counts as a step, and what is asked before it does."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Type

from ddprun import _heartbeat, _nccl, _state
from ddprun._membership import WorldChanged

if TYPE_CHECKING:
    from ddprun._world import World


class Update:
    """The block of `with world.update():`, one for all steps of a world: it is on the way of each of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._run = world._run
        self._membership = world._membership
        self.loss: Any = None  # The current step's; None: the program does not report it

    def __enter__(self) -> None:
        if self._world._frees_gpu:
            self._require_results()
        with self._run._lock:
            self._run._await_limit()
            self._membership.begin_update(self._world.last_part)
            try:
                self._require_reduced()
            except BaseException:
                self._membership.drop_update()
                raise

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        with self._run._lock:
            self._membership.end_update(error is None)
        if error is None:
            self._count()

    def _count(self) -> None:
        run, copy = self._run, self._world._light_copy
        samples = 0
        if run._batches is not None:
            run._batches.count_step()
            samples = run._batches.samples_of_worker
        if copy is not None:
            copy.take()
        _heartbeat.step_done(self._membership.step, samples, self.loss)
        if not run._checked:  # the optimizer has a state only now
            _state.packed_parts(run._parts)
            run._checked = True

    def _require_results(self) -> None:
        """What the GPU has received from other members is garbage where the world has ended meanwhile."""
        _nccl.await_gpu()
        self._membership.require_unchanged()

    def _require_reduced(self) -> None:
        """A step whose gradients are not reduced must not count, also where the program has caught the error.

        A reducer that waits in vain has noted already that it is done. But what it waits for in vain has hung up.
        """
        if self._run._line is not None and self._world._sockets.hung_up():
            raise WorldChanged("a member is lost, perhaps before it has given its gradients")
        try:
            for ddp in self._world._wrapped:
                ddp._check_reducer_finalized()
        except RuntimeError as error:
            if self._run._line is None:
                raise
            raise WorldChanged("the gradients of this step were not reduced") from error
        if self._world._unfinished:
            raise WorldChanged("the forward pass of this step has failed")
