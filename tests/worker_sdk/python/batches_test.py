#!/usr/bin/env python3
"""Samples are dealt out exactly, whatever the number of workers is: batches_test.py [unittest's arguments]"""

import itertools
import json
import random
import sys
import unittest
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

PROJECT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "worker_sdk" / "python"))

import ddprun  # noqa: E402
from ddprun import _batches, _update, _world  # noqa: E402


def any_order(size, seed, epoch):
    """An order of an epoch without torch."""
    order = list(range(size))
    random.Random(1000 * seed + epoch).shuffle(order)
    return order


class Job:
    """Workers that train together, are stopped, and go on in another number from what was saved."""

    def __init__(self, size, **options):
        self.size, self.options = size, options
        self.saved = None
        self.steps = []  # the samples of all workers in each step

    def train(self, workers, steps):
        """Every worker begins again, as after a restart, and all count `steps` steps."""
        batches = [ddprun.Batches(self.size, **self.options) for _ in range(workers)]
        for rank, each in enumerate(batches):
            if self.saved is not None:
                each.load_state_dict(json.loads(json.dumps(self.saved)))
            each.deal(rank, workers)
        ahead = [iter(each) for each in batches]  # as a loader: it does not wait for steps that count
        for _ in range(steps):
            parts = [list(itertools.islice(each, batches[0].parts)) for each in ahead]
            self.steps.append([index for part in parts for batch in part for index in batch])
            for each in batches:
                each.count_step()
        self.saved = batches[0].state_dict()
        return self

    def stream(self):
        return [index for step in self.steps for index in step]


class ExactTest(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.object(_batches, "shuffled", any_order)
        patch.start()
        self.addCleanup(patch.stop)

    def test_every_sample_comes_once_an_epoch_however_many_workers_there_are(self):
        for workers in (1, 2, 3, 4, 7):
            for options in ({"local_batch": 3}, {"global_batch": 10}, {"global_batch": 10, "micro_batch": 1}):
                job = Job(101, shuffle=False, **options).train(workers, 60)
                stream = [index for step in job.steps for index in sorted(step)]
                self.assertEqual(Counter(stream), Counter(i % 101 for i in range(len(stream))))

    def test_a_job_that_changes_its_number_of_workers_goes_on_behind_the_last_counted_step(self):
        dice = random.Random(3)
        for options in ({"local_batch": 4}, {"global_batch": 24}, {"global_batch": 24, "micro_batch": 3}):
            for shuffle in (False, True):
                job = Job(97, shuffle=shuffle, seed=5, **options)
                for _ in range(12):
                    job.train(dice.randint(1, 6), dice.randint(0, 5))
                stream = job.stream()
                expected = [i for epoch in range(len(stream) // 97 + 1)
                            for i in (any_order(97, 5, epoch) if shuffle else range(97))]
                self.assertEqual(Counter(stream), Counter(expected[: len(stream)]))
                place = 0
                for step in job.steps:  # and each step has exactly the next ones
                    self.assertEqual(sorted(step), sorted(expected[place : place + len(step)]))
                    place += len(step)

    def test_what_a_loader_has_read_ahead_does_not_count(self):
        batches = ddprun.Batches(100, local_batch=5, shuffle=False)
        ahead = iter(batches)
        for _ in range(7):
            next(ahead)
        batches.count_step()
        self.assertEqual(batches.state_dict(), {"epoch": 0, "consumed": 5, "size": 100})
        self.assertEqual(next(iter(batches)), [5, 6, 7, 8, 9])

    def test_workers_take_samples_in_turns(self):
        dealt = []
        for rank in range(3):
            batches = ddprun.Batches(100, local_batch=2, shuffle=False)
            batches.deal(rank, 3)
            dealt.append(list(itertools.islice(batches, 2)))
        self.assertEqual(dealt, [[[0, 3], [6, 9]], [[1, 4], [7, 10]], [[2, 5], [8, 11]]])

    def test_a_step_may_begin_in_one_epoch_and_end_in_the_next(self):
        batches = ddprun.Batches(5, local_batch=3, shuffle=False)
        self.assertEqual(list(itertools.islice(batches, 4)), [[0, 1, 2], [3, 4, 0], [1, 2, 3], [4, 0, 1]])

    def test_a_step_may_be_longer_than_an_epoch(self):
        batches = ddprun.Batches(3, local_batch=4, shuffle=False)
        batches.deal(1, 2)
        self.assertEqual(next(iter(batches)), [1, 0, 2, 1])

    def test_each_epoch_is_shuffled_anew_and_its_end_is_told(self):
        batches = ddprun.Batches(6, local_batch=4, seed=1)
        stream = list(itertools.chain(*itertools.islice(batches, 3)))
        self.assertEqual(stream, any_order(6, 1, 0) + any_order(6, 1, 1))
        told = []
        for _ in range(4):
            batches.count_step()
            told.append((batches.epoch, batches.epoch_ended))
        self.assertEqual(told, [(0, False), (1, True), (2, True), (2, False)])

    def test_no_more_than_two_orders_are_kept(self):
        batches = ddprun.Batches(3, local_batch=4)
        list(itertools.islice(batches, 50))
        self.assertLessEqual(len(batches._orders), 2)


class ShareTest(unittest.TestCase):
    def test_a_global_batch_gives_each_worker_equally_many_in_every_part(self):
        for workers, micro_batch, parts, used in ((1, None, 1, 256), (3, None, 1, 255), (1, 64, 4, 256),
                                                  (3, 64, 2, 252), (8, 64, 1, 256), (100, 1, 2, 200)):
            batches = ddprun.Batches(1000, global_batch=256, micro_batch=micro_batch, shuffle=False)
            batches.deal(0, workers)
            self.assertEqual((batches.parts, batches.samples_in_step), (parts, used))
            self.assertEqual({len(part) for part in itertools.islice(batches, 9)}, {used // parts // workers})

    def test_what_does_not_divide_stays_for_the_next_step(self):
        job = Job(1000, global_batch=256, micro_batch=64, shuffle=False).train(3, 2)
        self.assertEqual([len(step) for step in job.steps], [252, 252])
        self.assertEqual(sorted(job.stream()), list(range(504)))

    def test_a_local_batch_is_the_same_on_any_number_of_workers(self):
        for micro_batch, parts, samples in ((None, 1, 25), (12, 3, 8), (5, 5, 5), (1, 25, 1)):
            for workers in (1, 7):
                batches = ddprun.Batches(1000, local_batch=25, micro_batch=micro_batch, shuffle=False)
                batches.deal(0, workers)
                self.assertEqual((batches.parts, batches.samples_in_step), (parts, parts * samples * workers))

    def test_it_is_known_how_many_steps_the_epochs_have_left(self):
        batches = ddprun.Batches(1000, global_batch=256, shuffle=False)
        batches.deal(0, 3)
        self.assertEqual(batches.samples_of_worker, 85)
        self.assertEqual([batches.steps_until(epochs) for epochs in (0, 1, 3)], [0, 4, 12])
        steps = 0
        while batches.epoch < 3:
            batches.count_step()
            steps += 1
        self.assertEqual((steps, batches.steps_until(3)), (12, 0))
        self.assertEqual(batches.steps_until(1), 0, "what is over has no steps left")

    def test_numbers_that_make_no_batches_are_refused(self):
        for options, expected in (
            ({}, "one of the two"),
            ({"local_batch": 1, "global_batch": 1}, "one of the two"),
            ({"local_batch": 0}, "local_batch is 0, expected 1 or more"),
            ({"global_batch": 4, "micro_batch": -1}, "micro_batch is -1"),
        ):
            with self.assertRaisesRegex(ValueError, expected):
                ddprun.Batches(10, **options)
        with self.assertRaisesRegex(ValueError, "size is 0"):
            ddprun.Batches(0, local_batch=1)
        batches = ddprun.Batches(10, global_batch=4)
        with self.assertRaisesRegex(ValueError, "global_batch is 4, which gives some of 5 workers no sample"):
            batches.deal(0, 5)
        with self.assertRaisesRegex(ValueError, "rank 2, expected 0 to 1"):
            batches.deal(2, 2)


class ProgressTest(unittest.TestCase):
    """What the elastic loop reports of itself, in a world that is made without a group."""

    def world(self, step):
        batches = ddprun.Batches(1000, global_batch=256, shuffle=False)
        batches.deal(0, 3)
        world = _world.World.__new__(_world.World)
        world._membership = SimpleNamespace(step=step)
        world._run = SimpleNamespace(step=step, _batches=batches, _checked=True)
        world._light_copy = None
        world._update = _update.Update(world)
        return world

    def test_the_end_of_the_training_is_reported_in_steps(self):
        world = self.world(step=5)
        for steps, epochs, expected in ((100, None, 100), (None, 3, 17), (10, 3, 10), (100, 3, 17)):
            with mock.patch.object(_world, "expect_steps") as expect:
                world._expect(world._run._batches, steps, epochs)
            expect.assert_called_once_with(expected)
        with mock.patch.object(_world, "expect_steps") as expect:
            world._expect(world._run._batches, None, None)
        expect.assert_not_called()

    def test_a_step_is_reported_with_its_samples_and_the_loss_that_is_told(self):
        world = self.world(step=5)
        for arguments, loss in (({"loss": 0.5}, 0.5), ({}, None)):
            with mock.patch.object(_update._heartbeat, "step_done") as done:
                world.update(**arguments)._count()
            done.assert_called_once_with(5, 85, loss)


class PlaceTest(unittest.TestCase):
    def test_a_place_in_other_data_is_refused(self):
        batches = ddprun.Batches(10, local_batch=1)
        with self.assertRaisesRegex(ValueError, "sample 3 of 11, and this data set has 10"):
            batches.load_state_dict({"epoch": 0, "consumed": 3, "size": 11})
        for state in ({}, {"epoch": 0, "consumed": 3}, {"epoch": -1, "consumed": 0, "size": 10},
                      {"epoch": 0, "consumed": 1.5, "size": 10}, {"epoch": 0, "consumed": True, "size": 10}):
            with self.assertRaisesRegex(ValueError, "expected epoch, consumed and size"):
                batches.load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "sample 11 of 10"):
            batches.load_state_dict({"epoch": 0, "consumed": 11, "size": 10})

    def test_the_place_of_the_sdk_for_cpp_at_the_end_of_an_epoch_is_the_begin_of_the_next(self):
        batches = ddprun.Batches(10, local_batch=1)
        batches.load_state_dict({"epoch": 2, "consumed": 10, "size": 10})
        self.assertEqual(batches.state_dict(), {"epoch": 3, "consumed": 0, "size": 10})


if __name__ == "__main__":
    unittest.main()
