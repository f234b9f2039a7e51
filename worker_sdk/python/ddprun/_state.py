"""The state of a training as named tensors and JSON, and how members of a world send it to each other.

No pickle travels: a header in JSON says what there is, and then the bytes of all tensors come in pieces.
Both sides hash a piece while the next one travels, and compare the digests before anything is loaded.
torch is imported by the functions that move tensors.
"""

from __future__ import annotations

import collections
import ctypes
import hashlib
import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

PIECE_BYTES = 16 << 20
HEADER_BYTES_MAX = 1 << 30

PLAIN = (bool, int, float, str, type(None))


def pack(value: Any, is_tensor: Callable[[Any], bool], tensors: List[Any], path: str) -> Any:
    """Returns `value` as JSON can say it; its tensors are appended to `tensors`.

    Dictionaries keep keys that are no texts, as an optimizer's are, and tuples stay tuples. Raises
    TypeError, with the path, for what is neither a tensor nor JSON.
    """
    if is_tensor(value):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if type(value) in PLAIN:
        return value
    if type(value) in (list, tuple):
        items = [pack(item, is_tensor, tensors, f"{path}[{i}]") for i, item in enumerate(value)]
        return items if type(value) is list else {"tuple": items}
    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int, float, bool):
                raise TypeError(f"{path} has the key {key!r}, expected a text or a number")
        pairs = [[key, pack(item, is_tensor, tensors, f"{path}[{key!r}]")] for key, item in value.items()]
        return {"counter" if isinstance(value, collections.Counter) else "dict": pairs}
    raise TypeError(f"{path} is of the type {type(value).__name__}, expected tensors and what JSON can say")


def unpack(value: Any, tensors: Sequence[Any]) -> Any:
    """What pack() was given."""
    if isinstance(value, list):
        return [unpack(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "tuple":
        return tuple(unpack(item, tensors) for item in content)
    pairs = {key: unpack(item, tensors) for key, item in content}
    return collections.Counter(pairs) if kind == "counter" else pairs


class Cut(NamedTuple):
    """The bytes `begin` to `end` of text number `index`, which lie at `place` of a piece."""

    index: int
    begin: int
    end: int
    place: int


def pieces(sizes: Sequence[int], piece_bytes: int) -> Iterator[List[Cut]]:
    """How texts of these sizes, one behind the other, are cut into pieces of at most `piece_bytes`."""
    piece: List[Cut] = []
    filled = 0
    for index, size in enumerate(sizes):
        begin = 0
        while begin < size:
            length = min(size - begin, piece_bytes - filled)
            piece.append(Cut(index, begin, begin + length, filled))
            begin, filled = begin + length, filled + length
            if filled == piece_bytes:
                yield piece
                piece, filled = [], 0
    if piece:
        yield piece


def is_tensor(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def packed_parts(parts: Dict[str, Any]) -> Tuple[Any, List[Any]]:
    """The states of all parts as JSON and tensors. Raises TypeError for a part that cannot travel."""
    import torch

    tensors: List[Any] = []
    tree = {name: pack(part.state_dict(), is_tensor, tensors, f"the state of '{name}'") for name, part in parts.items()}
    for tensor in tensors:
        if tensor.layout != torch.strided or tensor.is_quantized:
            raise TypeError(f"a tensor of the state has the layout {tensor.layout}, expected a dense one")
    return tree, tensors


def digest_of(parts: Dict[str, Any]) -> str:
    """The SHA-256 of all parts, without the buffers of modules: running means are each rank's own until DDP sends
    those of rank 0. Raises TypeError for a part that cannot travel.
    """
    tree, tensors = packed_parts({name: _WithoutBuffers(part) for name, part in parts.items()})
    hashed = hashlib.sha256(json.dumps(tree).encode())
    for tensor in tensors:
        hashed.update(_memory_of(_as_bytes(tensor.cpu())))
    return hashed.hexdigest()


class _WithoutBuffers:
    def __init__(self, part: Any) -> None:
        self._part = part

    def state_dict(self) -> Any:
        import torch

        state = self._part.state_dict()
        if isinstance(self._part, torch.nn.Module):
            for name, _ in self._part.named_buffers():
                state.pop(name, None)
        return state


def _as_bytes(tensor: Any) -> Any:
    """The same memory as bytes; a copy where the tensor does not lie in one piece."""
    import torch

    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def _memory_of(tensor: Any) -> Any:
    """The bytes of a tensor, without numpy, which torch may be installed without."""
    memory = (ctypes.c_char * tensor.numel()).from_address(tensor.data_ptr())
    memory.owner = tensor
    return memory


class Courier:
    """Carries a state from one member of a group to all others of it."""

    def __init__(self, group: Any, source: int, sends: bool, device: Any) -> None:
        self._group = group
        self._source = source
        self._sends = sends
        self._device = device  # whose tensors the group can send
        self._hash = hashlib.sha256()

    def carry(self, tree: Any, tensors: Sequence[Any]) -> Tuple[Any, List[Any], str]:
        """Returns the source's tree, its tensors in the memory of the host, and the digest of all bytes.

        Others than the source give None and no tensors.
        """
        import torch

        about = [[str(tensor.dtype).rpartition(".")[2], list(tensor.shape)] for tensor in tensors]
        header = json.loads(self._carry_header(json.dumps([tree, about]).encode()))
        if not self._sends:
            tree, about = header
            tensors = [torch.empty(shape, dtype=getattr(torch, dtype)) for dtype, shape in about]
        self._carry_bytes([_as_bytes(tensor) for tensor in tensors])
        return tree, list(tensors), self._hash.hexdigest()

    def _carry_header(self, text: bytes) -> bytes:
        import torch

        length = torch.tensor([len(text)])
        self._broadcast(length)
        size = int(length)
        if not 0 < size <= HEADER_BYTES_MAX:
            raise RuntimeError(f"the header of a state has {size} bytes, expected 1 to {HEADER_BYTES_MAX}")
        header = torch.frombuffer(bytearray(text if self._sends else size), dtype=torch.uint8)
        self._broadcast(header)
        self._hash.update(_memory_of(header))
        return bytes(_memory_of(header))

    def _carry_bytes(self, flats: Sequence[Any]) -> None:
        import torch

        buffers = [torch.empty(PIECE_BYTES, dtype=torch.uint8) for _ in range(2)]
        hashed: List[Optional[Future[None]]] = [None, None]
        with ThreadPoolExecutor(1) as hasher:
            for number, cuts in enumerate(pieces([flat.numel() for flat in flats], PIECE_BYTES)):
                which = number % 2
                before = hashed[which]
                if before is not None:
                    before.result()
                self._carry_piece(flats, cuts, buffers[which])
                used = buffers[which][: cuts[-1].place + cuts[-1].end - cuts[-1].begin]
                hashed[which] = hasher.submit(self._hash.update, _memory_of(used))

    def _carry_piece(self, flats: Sequence[Any], cuts: Sequence[Cut], buffer: Any) -> None:
        ranges = [(flats[cut.index][cut.begin : cut.end], cut) for cut in cuts]
        if self._sends:
            for text, cut in ranges:
                buffer[cut.place : cut.place + len(text)].copy_(text)
        self._broadcast(buffer[: cuts[-1].place + cuts[-1].end - cuts[-1].begin])
        if not self._sends:
            for text, cut in ranges:
                text.copy_(buffer[cut.place : cut.place + len(text)])

    def _broadcast(self, tensor: Any) -> None:
        """Over the group's device, where that is not the memory of the host."""
        import torch.distributed

        there = tensor.to(self._device)
        torch.distributed.broadcast(there, self._source, group=self._group)
        if not self._sends and there is not tensor:
            tensor.copy_(there)


def seed_of(seed: int, step: int, rank: int) -> int:
    """The seed of a step's random numbers on one worker: a number of 63 bits."""
    digest = hashlib.sha256(f"{seed}/{step}/{rank}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
