"""Which samples each worker of a world gets in each step, whatever the number of workers is.

The samples of all epochs, one epoch behind the other, are one long stream. A step takes the next ones of
it, equally many for each worker, and workers take them in turns. So a step may begin in one epoch and end
in the next, and every sample comes exactly once in each epoch: none is repeated to make the workers
equal, and none is left out. How many samples of the stream all workers have used is all that has to be
known to go on, with any number of workers.

Only the order of a shuffled epoch needs torch, which is imported then: it is the order of
torch.utils.data.DistributedSampler and of the worker SDK for C++.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence


class Share(NamedTuple):
    """What each worker gets in a step: `parts` micro batches, one after the other, of `samples` each."""

    parts: int
    samples: int

    @property
    def of_each_worker(self) -> int:
        return self.parts * self.samples


def divide_up(a: int, b: int) -> int:
    return -(-a // b)


def share_of(samples: int, micro_batch: Optional[int]) -> Share:
    """Cuts a worker's samples of a step into equal parts of at most `micro_batch`, as far as they divide."""
    parts = divide_up(samples, micro_batch or samples)
    return Share(parts, samples // parts)


def shuffled(size: int, seed: int, epoch: int) -> Sequence[int]:
    """The order of an epoch."""
    import torch

    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    return torch.randperm(size, generator=generator)  # type: ignore[return-value]


class Batches:
    """Distributes the samples of a data set to the workers: a batch_sampler for torch's DataLoader.

        batches = ddprun.Batches(len(data), global_batch=256, seed=7)
        loader = DataLoader(data, batch_sampler=batches, num_workers=2)

    local_batch: how many samples each worker gets in a step. The step of the whole job grows and shrinks
        with the number of workers, so the learning rate may have to follow it.
    global_batch: how many samples all workers together get in a step. All get the same number, so that
        DDP's mean is the mean over all samples. Samples that cannot be divided evenly stay for the next
        step: 3 workers use 255 of 256.
    micro_batch: the greatest number of samples that a worker processes at a time. A step then has several
        parts, whose gradients are added up: World.parts and World.last_part.
    seed: decides, with the epoch, how samples are shuffled. It is the same on all workers.
    shuffle: False gives the samples in the order of their indices.

    Its iterator gives lists of indices without end, beginning after the last counted step. Pass it to
    ElasticRun, which counts the steps and sets the number of workers.

    Raises ValueError if a number is less than 1, or if neither or both of local_batch and global_batch are
    given.
    """

    def __init__(
        self,
        size: int,
        *,
        local_batch: Optional[int] = None,
        global_batch: Optional[int] = None,
        micro_batch: Optional[int] = None,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        if (local_batch is None) == (global_batch is None):
            raise ValueError("Batches takes local_batch, for each worker, or global_batch, for all: one of the two")
        numbers = {"size": size, "local_batch": local_batch, "global_batch": global_batch, "micro_batch": micro_batch}
        for name, number in numbers.items():
            if number is not None and number < 1:
                raise ValueError(f"Batches: {name} is {number}, expected 1 or more")
        self._size = size
        self._local_batch = local_batch
        self._global_batch = global_batch
        self._micro_batch = micro_batch
        self._seed = seed
        self._shuffle = shuffle
        self._orders: Dict[int, Sequence[int]] = {}  # orders of the epochs that are dealt out now
        self._used = 0  # samples of the stream that counted steps have used
        self._used_before = 0  # the same before the last counted step
        self.deal(0, 1)

    def deal(self, rank: int, world_size: int) -> None:
        """Deals out for worker `rank` of `world_size`, behind the last counted step."""
        if not 0 <= rank < world_size:
            raise ValueError(f"Batches: rank {rank}, expected 0 to {world_size - 1}")
        samples = self._local_batch
        if samples is None:
            assert self._global_batch is not None
            samples = self._global_batch // world_size
            if samples == 0:
                raise ValueError(
                    f"Batches: global_batch is {self._global_batch}, which gives some of {world_size} workers "
                    f"no sample: expected {world_size} or more"
                )
        self._share = share_of(samples, self._micro_batch)
        self._rank, self._world_size = rank, world_size
        self._samples_in_step = self._share.of_each_worker * world_size

    @property
    def parts(self) -> int:
        """How many lists of indices, one after the other, a worker gets in one step."""
        return self._share.parts

    @property
    def samples_in_step(self) -> int:
        """How many samples all workers together use in one step."""
        return self._samples_in_step

    @property
    def samples_of_worker(self) -> int:
        """How many samples this worker uses in one step."""
        return self._share.of_each_worker

    def steps_until(self, epochs: int) -> int:
        """How many more steps use up that many epochs, if the number of workers stays as it is."""
        return divide_up(max(0, epochs * self._size - self._used), self._samples_in_step)

    @property
    def epoch(self) -> int:
        """How many epochs all workers together have used up."""
        return self._used // self._size

    @property
    def epoch_ended(self) -> bool:
        """Whether the last counted step has used up an epoch."""
        return self._used_before // self._size < self.epoch

    def count_step(self) -> None:
        """All workers have used their samples of one step."""
        self._used_before = self._used
        self._used += self._samples_in_step

    def state_dict(self) -> Dict[str, int]:
        """The place in the data: the epoch, and how many of its samples all workers have used."""
        return {"epoch": self.epoch, "consumed": self._used % self._size, "size": self._size}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on where the state was, with any number of workers. Call iter() again afterwards.

        Raises ValueError for a state of another data set.
        """
        epoch, consumed, size = (state.get(name) for name in ("epoch", "consumed", "size"))
        if not all(type(number) is int and number >= 0 for number in (epoch, consumed, size)):
            raise ValueError(f"Batches: the place in the data is {state}, expected epoch, consumed and size")
        if size != self._size or consumed > size:
            raise ValueError(
                f"Batches: the place in the data is sample {consumed} of {size}, and this data set has "
                f"{self._size} samples"
            )
        self._used = self._used_before = epoch * size + consumed

    def __iter__(self) -> Iterator[List[int]]:
        rank, world_size, share, begin = self._rank, self._world_size, self._share, self._used
        while True:
            length = share.samples * world_size
            yield self._indices(begin + rank, begin + length, world_size)
            begin += length

    def _indices(self, begin: int, end: int, stride: int) -> List[int]:
        """The samples at begin, begin + stride and so on, before `end`, of the stream."""
        found: List[int] = []
        while begin < end:
            epoch, place = divmod(begin, self._size)
            stop = min(self._size, place + end - begin)
            here = self._order(epoch)[place:stop:stride]
            found += here.tolist() if hasattr(here, "tolist") else here
            begin += stride * len(here)
        return found

    def _order(self, epoch: int) -> Sequence[int]:
        if not self._shuffle:
            return range(self._size)
        if epoch not in self._orders:
            self._orders = {key: order for key, order in self._orders.items() if key == epoch - 1}
            self._orders[epoch] = shuffled(self._size, self._seed, epoch)
        return self._orders[epoch]
