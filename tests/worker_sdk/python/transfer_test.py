"""A state travels to members that lack it, to the bit, or the members say that it does not: transfer_test.py"""

import os
import sys
import unittest
from unittest import mock

import torch

from forked_workers import on_workers

from ddprun import ElasticRun, _state  # forked_workers has put their folder into the path
from ddprun._meeting import Meeting, Place

ODD_TENSORS = {
    "scalar": torch.tensor(7, dtype=torch.int64),
    "empty": torch.empty(0, 3),
    "bfloat16": torch.arange(5, dtype=torch.bfloat16),
    "bool": torch.tensor([True, False, True]),
    "strided": torch.arange(24.0).reshape(4, 6).t()[::2],
    "nan": torch.tensor([float("nan"), -0.0, float("inf")]),
    "complex": torch.complex(torch.ones(2), torch.zeros(2)),
}


class Part:
    """Any state, that of an exponential mean for example."""

    def __init__(self, state):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def in_bits(tensor):
    return tensor.dtype, tensor.shape, bytes(_state._memory_of(_state._as_bytes(tensor))) if tensor.numel() else b""


def enter(state_of_rank, flips=lambda attempt: False):
    """Enters a world with what this rank has loaded; returns the state that it begins with."""
    rank = int(os.environ["RANK"])
    part = Part({})
    run = ElasticRun(part=part)
    step, part.state = state_of_rank(rank)
    run._membership.load(0, step)
    carried = _state.Courier._carry_bytes
    attempts = []

    def carry(courier, flats):
        attempts.append(courier)
        if rank == 0 and flips(len(attempts)):
            courier._hash.update(b"a bit that has flipped")
        carried(courier, flats)

    with mock.patch.object(_state.Courier, "_carry_bytes", carry), mock.patch.object(_state, "PIECE_BYTES", 7):
        for world in run.worlds("gloo", timeout=60):
            with world:
                assert run.step == 5, run.step
                return part.state


def greatest_on_1_and_2(rank):
    return (5, {"x": ODD_TENSORS, 3: (1, "text")}) if rank else (2, {"x": torch.zeros(3)})


def assert_is_the_greatest(state):
    assert state[3] == (1, "text") and list(state["x"]) == list(ODD_TENSORS), state
    for name, tensor in ODD_TENSORS.items():
        assert in_bits(state["x"][name]) == in_bits(tensor), name


class TransferTest(unittest.TestCase):
    def test_every_bit_of_the_greatest_state_arrives_in_pieces_that_cut_tensors(self):
        self.assertEqual(on_workers(3, lambda: assert_is_the_greatest(enter(greatest_on_1_and_2))), [0] * 3)

    def test_a_state_with_another_digest_is_sent_once_more(self):
        self.assertEqual(on_workers(3, lambda: assert_is_the_greatest(
            enter(greatest_on_1_and_2, flips=lambda attempt: attempt == 1))), [0] * 3)

    def test_after_the_second_time_all_members_fail(self):
        def work():
            try:
                enter(greatest_on_1_and_2, flips=lambda attempt: True)
            except RuntimeError as error:
                assert "the state of step 5 came with another digest 2 times" in str(error), error
            else:
                raise AssertionError("the world was entered")
        self.assertEqual(on_workers(3, work), [0] * 3)

    def test_members_that_keep_different_parts_all_fail(self):
        def work():
            names = ["model", "ema"] if os.environ["RANK"] == "1" else ["model"]
            run = ElasticRun(**{name: Part({}) for name in names})
            try:
                for world in run.worlds("gloo", timeout=60):
                    world.__enter__()
            except RuntimeError as error:
                assert "rank 1 keeps the parts ema, model" in str(error), error
            else:
                raise AssertionError("the world was entered")
        self.assertEqual(on_workers(2, work), [0, 0])

    def test_who_waits_in_vain_says_for_whom(self):
        alone = Meeting(Place(0, 0, 2), torch.distributed.HashStore(), seconds=0.2)
        with self.assertRaisesRegex(RuntimeError, "rank 1 did not come within 0.2 s, while entering a world"):
            alone.agree("loaded", [0, []], lambda words: {})
        other = Meeting(Place(0, 1, 2), torch.distributed.HashStore(), seconds=0.2)
        with self.assertRaisesRegex(RuntimeError, "rank 0 has decided nothing within 0.2 s"):
            other.agree("loaded", [0, []], lambda words: {})


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main(argv=sys.argv[:1])
