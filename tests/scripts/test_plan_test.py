#!/usr/bin/env python3
"""Which tests scripts/test --within leaves out, by the times that they took elsewhere."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import test_plan  # noqa: E402

SECONDS = {"compile": 5.0, "all": 100.0, "slow": 60.0, "wide": 40.0, "quick": 20.0}
TAKES = {"slow": 1, "wide": 2, "quick": 1, "tiny": 1}  # processors; "tiny" is too short to be listed


class Plan(unittest.TestCase):
    def left_out(self, slowness, left):
        return test_plan.left_out(SECONDS, TAKES, slowness, left)[0]

    def test_nothing_is_left_out_where_there_is_time(self):
        self.assertEqual(self.left_out(slowness=1.0, left=100), [])

    def test_the_one_that_takes_most_of_all_processors_is_left_out_first(self):
        self.assertEqual(self.left_out(slowness=1.0, left=99), ["wide"])

    def test_on_a_slower_machine_more_are_left_out(self):
        self.assertEqual(self.left_out(slowness=3.0, left=100), ["wide", "slow"])

    def test_what_is_too_short_to_be_listed_is_run_even_without_any_time(self):
        self.assertEqual(self.left_out(slowness=9.0, left=-1), ["wide", "slow", "quick"])

    def test_the_time_that_all_would_take_grows_with_slowness(self):
        self.assertEqual(test_plan.left_out(SECONDS, TAKES, 2.5, 1000)[1], 250)


if __name__ == "__main__":
    unittest.main()
