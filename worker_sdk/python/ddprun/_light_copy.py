"""What a forward pass changes in a model beside its gradients: its buffers, such as running means."""

from __future__ import annotations

from typing import Any, Iterable


class LightCopy:
    """Buffers as the last counted step has left them, so that a step that is dropped leaves no trace.

    All of them are copied each time: a batch norm changes its running means without a new version of the tensor.
    """

    def __init__(self, modules: Iterable[Any]) -> None:
        self._buffers = [buffer.detach() for module in modules for buffer in module.buffers()]
        self._copies = [buffer.clone() for buffer in self._buffers]

    def take(self) -> None:
        """A step was counted."""
        self._copy(self._copies, self._buffers)

    def put_back(self) -> None:
        """The step that is in progress is dropped."""
        self._copy(self._buffers, self._copies)

    def _copy(self, there: Any, here: Any) -> None:
        if there:
            import torch

            torch._foreach_copy_(there, here)
