"""Where a worker is in a world, and how its members agree on something over their store."""

from __future__ import annotations

import collections
import json
import os
from datetime import timedelta
from typing import Any, Callable, Counter, Dict, List, NamedTuple

from ddprun._membership import Loaded, choose_line, differing_parts
from ddprun._worker import RANK, RESTART_COUNT, ROUND, WORLD_SIZE, whole_number

TRANSFERS_MAX = 2  # attempts to carry a state
CHECK_STATE = "DDPRUN_CHECK_STATE"  # set: members of a world compare what they begin with

_worlds_of_round: Counter[int] = collections.Counter()


class Place(NamedTuple):
    """Where this worker is in a world."""

    round: int
    rank: int
    size: int

    @classmethod
    def of_environment(cls) -> Place:
        """As the launcher has set it; without a launcher this worker is alone."""
        number = whole_number(ROUND, whole_number(RESTART_COUNT, 0))
        return cls(number, whole_number(RANK, 0), whole_number(WORLD_SIZE, 1))

    def meet(self, seconds: float) -> Any:
        """Returns the store in which the members meet."""
        import torch.distributed
        from torch.distributed.rendezvous import rendezvous

        if WORLD_SIZE in os.environ:
            store, _, _ = next(rendezvous("env://", timeout=timedelta(seconds=seconds)))
        else:
            store = torch.distributed.HashStore()
        # torchrun's store may have keys of the attempts before, and a program may loop over worlds twice.
        prefix = f"ddprun/world/{self.round}.{_worlds_of_round[self.round]}"
        _worlds_of_round[self.round] += 1
        return torch.distributed.PrefixStore(prefix, store)


class Meeting:
    """Members of a world agree on something over their store: each says a word, and rank 0 decides."""

    def __init__(self, place: Place, store: Any, seconds: float) -> None:
        self._place = place
        self._store = store
        self._seconds = seconds

    def agree(self, about: str, mine: Any, decide: Callable[[List[Any]], Dict[str, Any]]) -> Dict[str, Any]:
        """Returns the decision. Raises RuntimeError where it is a refusal, or somebody does not come."""
        keys = [f"{about}/{rank}" for rank in range(self._place.size)]
        store = self._store
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
            self._store.wait(keys, timedelta(seconds=self._seconds))
        except RuntimeError as error:
            missing = [key.rpartition("/")[2] for key in keys if not self._store.check([key])]
            what = "rank 0 has decided nothing" if "decision" in missing else f"rank {', '.join(missing)} did not come"
            raise RuntimeError(f"{what} within {self._seconds:g} s, while entering a world ({about})") from error


def decide_line(words: List[Any]) -> Dict[str, Any]:
    members = [Loaded(*word) for word in words]
    refusal = differing_parts(members)
    if refusal:
        return {"refused": refusal}
    line = choose_line(members)
    if line is None:
        return {"refused": "no worker has a whole state of the last step: an update has failed on all that had it"}
    return line._replace(sources=line.sources[:TRANSFERS_MAX])._asdict()


def decide_whether_states_differ(digests: List[str]) -> Dict[str, Any]:
    """Refuses members that do not have the same state, and names the ranks that have each state."""
    ranks: Dict[str, List[str]] = {}
    for rank, digest in enumerate(digests):
        ranks.setdefault(digest, []).append(str(rank))
    if len(ranks) == 1:
        return {}
    groups = "; ".join(", ".join(group) for group in ranks.values())
    return {
        "refused": f"members begin with different states ({CHECK_STATE}), by rank: {groups}. Does the program change "
        "a part of its state outside of world.update()?"
    }


def decide_digests(words: List[Any]) -> Dict[str, Any]:
    return {"equal": len({word for word in words if word}) == 1}
