#!/usr/bin/env python3
"""How a worker's state is written down, without torch: state_test.py"""

import json
import sys
import unittest
from collections import Counter, OrderedDict
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "worker_sdk" / "python"))

from ddprun import _state  # noqa: E402


class Tensor:
    def __init__(self, name):
        self.name = name


def there_and_back(value):
    tensors = []
    text = json.dumps(_state.pack(value, lambda one: isinstance(one, Tensor), tensors, "the state"))
    return _state.unpack(json.loads(text), tensors)


class PackTest(unittest.TestCase):
    def test_states_of_optimizers_and_schedules_come_back_as_they_were(self):
        weight, moment = Tensor("weight"), Tensor("moment")
        value = {
            "weight": weight,
            "state": {0: {"exp_avg": moment, "step": 3.5}, 7: {}},
            "param_groups": [{"betas": (0.9, 0.999), "lr": 1e-3, "fused": None, "params": [0, 7]}],
            "best": float("inf"),
            "milestones": Counter({3: 1, 9: 2}),
            "dict": {"tuple": {"tensor": ()}},
        }
        back = there_and_back(value)
        self.assertEqual(back, value)
        self.assertIs(back["state"][0]["exp_avg"], moment)
        self.assertIsInstance(back["param_groups"][0]["betas"], tuple)
        self.assertIsInstance(back["milestones"], Counter)
        self.assertIsInstance(there_and_back(OrderedDict(a=1)), dict)

    def test_what_cannot_travel_is_told_with_its_place(self):
        for value, expected in (
            ({"f": [1, len]}, r"the state\['f'\]\[1\] is of the type builtin_function_or_method"),
            ({(1, 2): 3}, r"the state has the key \(1, 2\)"),
            (b"bytes", "the state is of the type bytes"),
        ):
            with self.assertRaisesRegex(TypeError, expected):
                there_and_back(value)


class PiecesTest(unittest.TestCase):
    def test_texts_are_cut_into_full_pieces_without_a_gap(self):
        for sizes in ([], [0], [10], [4, 4], [3, 0, 9, 1], [1] * 9):
            texts = [bytes(range(16 * i, 16 * i + size)) for i, size in enumerate(sizes)]
            out, lengths = b"", []
            for cuts in _state.pieces(sizes, 4):
                piece = bytearray(4)
                for cut in cuts:
                    length = cut.end - cut.begin
                    piece[cut.place : cut.place + length] = texts[cut.index][cut.begin : cut.end]
                lengths.append(cuts[-1].place + cuts[-1].end - cuts[-1].begin)
                out += piece[: lengths[-1]]
            self.assertEqual(out, b"".join(texts))
            self.assertTrue(all(length == 4 for length in lengths[:-1]))


class SeedTest(unittest.TestCase):
    def test_every_step_and_rank_has_its_own_seed_and_the_same_again(self):
        seeds = {_state.seed_of(7, step, rank) for step in range(50) for rank in range(8)}
        self.assertEqual(len(seeds), 400)
        self.assertTrue(all(0 <= seed < 2**63 for seed in seeds))
        self.assertIn(_state.seed_of(7, 49, 7), seeds)


if __name__ == "__main__":
    unittest.main()
