"""What a forward pass changes in a model beside its gradients: its buffers, such as running means."""

from __future__ import annotations

from typing import Any, Dict, Iterable


class LightCopy:
    """Buffers as the last counted step has left them, so that a step that is dropped leaves no trace."""

    def __init__(self, modules: Iterable[Any]) -> None:
        self._copies: Dict[Any, Any] = {}
        self._versions: Dict[Any, int] = {}
        self._buffers = [buffer for module in modules for buffer in module.buffers()]
        self.take()

    def take(self) -> None:
        """A step was counted. Only what has changed since the last time is copied."""
        for buffer in self._buffers:
            if self._versions.get(buffer) == buffer._version:
                continue
            if buffer in self._copies:
                self._copies[buffer].copy_(buffer)
            else:
                self._copies[buffer] = buffer.detach().clone()
            self._versions[buffer] = buffer._version

    def put_back(self) -> None:
        """The step that is under way is dropped."""
        for buffer in self._buffers:
            if self._versions[buffer] != buffer._version:
                buffer.detach().copy_(self._copies[buffer])
                self._versions[buffer] = buffer._version
