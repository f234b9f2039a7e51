#!/usr/bin/env python3
"""What a worker may do when, and who gives its state to whom, without torch: membership_test.py"""

import sys
import unittest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "worker_sdk" / "python"))

from ddprun._membership import Loaded, Membership, WorldChanged, choose_line, differing_parts  # noqa: E402


def in_a_world():
    membership = Membership()
    membership.enter(3)
    membership.begin_training(line_round=0)
    return membership


class MembershipTest(unittest.TestCase):
    def test_a_step_counts_when_its_update_has_ended_well(self):
        member = in_a_world()
        member.begin_update(last_part=True)
        self.assertEqual((member.step, member.whole), (0, False))
        member.end_update(well=True)
        self.assertEqual((member.round, member.step, member.whole), (3, 1, True))

    def test_an_update_that_fails_leaves_the_state_torn_until_another_one_is_loaded(self):
        member = in_a_world()
        member.begin_update(last_part=True)
        member.end_update(well=False)
        with self.assertRaisesRegex(RuntimeError, "the state of step 0 is torn"):
            member.require_whole("state_dict()")
        with self.assertRaisesRegex(RuntimeError, "after an update that has failed"):
            member.begin_update(last_part=True)
        member.leave()
        member.load(4, 7)
        member.require_whole("state_dict()")
        self.assertEqual((member.round, member.step), (4, 7))

    def test_an_update_that_is_refused_before_it_has_changed_anything_leaves_the_state_whole(self):
        member = in_a_world()
        member.begin_update(last_part=True)
        member.drop_update()
        member.require_whole("state_dict()")
        self.assertEqual(member.step, 0)
        member.begin_update(last_part=True)

    def test_an_update_belongs_behind_the_last_part_within_a_world_and_not_within_another(self):
        with self.assertRaisesRegex(RuntimeError, "outside of its world"):
            Membership().begin_update(last_part=True)
        member = in_a_world()
        with self.assertRaisesRegex(RuntimeError, "before the last part"):
            member.begin_update(last_part=False)
        member.begin_update(last_part=True)
        with self.assertRaisesRegex(RuntimeError, "within an update"):
            member.begin_update(last_part=True)
        with self.assertRaisesRegex(RuntimeError, "in the middle of an update"):
            member.require_whole("state_dict()")

    def test_gradients_are_applied_in_updates_alone_and_freely_outside_of_worlds(self):
        member = Membership()
        member.require_update("optimizer.step()")
        member.enter(0)
        member.begin_training(line_round=0)
        with self.assertRaisesRegex(RuntimeError, r"optimizer.step\(\) outside of `with world.update"):
            member.require_update("optimizer.step()")
        member.begin_update(last_part=True)
        member.require_update("optimizer.step()")

    def test_one_world_at_a_time_and_no_loading_within(self):
        member = in_a_world()
        with self.assertRaisesRegex(RuntimeError, "within another one"):
            member.enter(4)
        with self.assertRaisesRegex(RuntimeError, "load before the loop"):
            member.load(1, 1)


class ChangeTest(unittest.TestCase):
    def test_no_update_begins_once_the_round_has_ended(self):
        member = in_a_world()
        member.end_round(3)
        self.assertTrue(member.has_to_leave)
        for refused in (lambda: member.begin_update(last_part=True), lambda: member.require_world("wrap()")):
            with self.assertRaisesRegex(WorldChanged, "the members of round 3 change"):
                refused()
        self.assertEqual((member.step, member.whole), (0, True))
        self.assertFalse(issubclass(WorldChanged, Exception))

    def test_an_update_that_is_under_way_when_the_round_ends_counts(self):
        member = in_a_world()
        member.begin_update(last_part=True)
        member.end_round(3)
        member.require_update("optimizer.step()")
        member.end_update(well=True)
        self.assertEqual((member.step, member.whole, member.has_to_leave), (1, True, True))

    def test_the_end_of_an_earlier_round_does_not_end_this_one(self):
        member = in_a_world()
        member.end_round(2)
        member.require_world("wrap()")
        self.assertFalse(member.world_has_ended)

    def test_a_round_may_end_before_it_is_entered(self):
        member = in_a_world()
        member.leave()
        member.end_round(4)
        self.assertTrue(member.world_has_ended)
        self.assertFalse(member.has_to_leave)
        member.enter(4)
        with self.assertRaises(WorldChanged):
            member.require_unchanged()
        member.leave()
        member.enter(5)
        member.require_unchanged()

    def test_what_follows_is_named_by_its_round_also_in_a_later_job_whose_rounds_begin_anew(self):
        member = in_a_world()
        self.assertEqual(member.round, 3)
        member.leave()
        member.load(9, 700)
        member.enter(4)
        member.begin_training(line_round=9)
        self.assertEqual((member.round, member.step), (10, 700))


def count_step(member):
    member.begin_update(last_part=True)
    member.end_update(well=True)


class HoldTest(unittest.TestCase):
    def test_who_is_held_says_how_many_steps_it_has_counted_and_begins_no_further_one(self):
        member = in_a_world()
        count_step(member)
        self.assertFalse(member.is_held)
        self.assertEqual(member.hold(3), 1)
        self.assertTrue(member.is_held)
        self.assertFalse(member.has_to_leave)
        with self.assertRaisesRegex(RuntimeError, "while round 3 is held"):
            member.begin_update(last_part=True)
        self.assertTrue(member.whole)

    def test_an_update_that_is_under_way_when_its_world_is_held_counts(self):
        member = in_a_world()
        member.begin_update(last_part=True)
        self.assertEqual(member.hold(3), 1)
        member.end_update(well=True)
        self.assertEqual((member.step, member.is_held), (1, True))

    def test_asked_again_it_gives_the_same_answer(self):
        member = in_a_world()
        self.assertEqual(member.hold(3), 0)
        member.leave_after(3, 2)
        count_step(member)
        self.assertEqual(member.hold(3), 0)
        self.assertFalse(member.is_held)

    def test_who_does_not_train_in_that_round_any_more_is_not_held(self):
        member = Membership()
        member.enter(3)
        self.assertEqual(member.hold(2), -1)
        self.assertIsNone(member.begin_training(line_round=0))
        self.assertEqual(member.hold(2), -1)
        self.assertFalse(member.is_held)
        member.leave()
        self.assertEqual([member.hold(2), member.hold(3)], [-1, -1])

    def test_who_is_asked_before_it_enters_or_while_it_does_answers_when_it_begins_to_train(self):
        for asked_before, asked_within in ((1, 0), (0, 1), (2, 2)):
            with self.subTest(before=asked_before, within=asked_within):
                member = Membership()
                answers = [member.hold(3) for _ in range(asked_before)]
                member.enter(3)
                answers += [member.hold(3) for _ in range(asked_within)]
                self.assertEqual(answers, [None] * (asked_before + asked_within))
                self.assertFalse(member.is_held)
                member.require_unchanged()
                member.load(2, 7)
                self.assertEqual(member.begin_training(line_round=2), 7)
                self.assertTrue(member.is_held)
                self.assertEqual(member.hold(3), 7)
                member.leave_after(3, 8)
                count_step(member)
                self.assertTrue(member.leaves_in_order)

    def test_it_owes_an_answer_about_the_round_that_was_asked_for_and_owes_it_once(self):
        member = in_a_world()
        member.leave()
        self.assertIsNone(member.hold(5))
        member.enter(4)
        self.assertEqual(member.hold(3), -1)
        self.assertIsNone(member.begin_training(line_round=3))
        self.assertFalse(member.is_held)
        member.leave()
        member.enter(5)
        self.assertEqual(member.begin_training(line_round=4), 0)
        member.leave()
        member.enter(5)  # as a program does that enters its worlds again
        self.assertIsNone(member.begin_training(line_round=5))

    def test_an_order_to_leave_takes_the_place_of_an_answer_that_is_owed(self):
        for asked_within in (False, True):
            with self.subTest(within=asked_within):
                member = Membership()
                if asked_within:
                    member.enter(3)
                self.assertIsNone(member.hold(3))
                member.end_round(3)
                self.assertEqual(member.hold(3), -1)
                if not asked_within:
                    member.enter(3)
                with self.assertRaises(WorldChanged):
                    member.require_unchanged()
                self.assertIsNone(member.begin_training(line_round=0))
                self.assertFalse(member.is_held)

    def test_who_loses_its_agent_leaves_where_it_is_held_and_owes_no_answer(self):
        member = Membership()
        member.enter(3)
        member.hold(3)
        member.end_hold()
        self.assertIsNone(member.begin_training(line_round=0))
        self.assertEqual((member.is_held, member.has_to_leave), (False, False))
        member.hold(3)
        member.end_hold()
        self.assertEqual((member.is_held, member.has_to_leave), (False, True))

    def test_it_leaves_in_order_once_the_last_step_is_counted(self):
        member = in_a_world()
        member.hold(3)
        member.leave_after(3, 2)
        count_step(member)
        self.assertEqual((member.has_to_leave, member.leaves_in_order), (False, False))
        member.begin_update(last_part=True)
        self.assertFalse(member.has_to_leave)
        member.end_update(well=True)
        self.assertEqual((member.has_to_leave, member.leaves_in_order), (True, True))
        with self.assertRaisesRegex(WorldChanged, "the members of round 3 change"):
            member.begin_update(last_part=True)
        member.leave()
        self.assertEqual((member.world_has_ended, member.has_to_leave), (True, False))

    def test_a_limit_of_another_round_or_for_one_who_is_not_held_is_passed_over(self):
        member = in_a_world()
        member.leave_after(3, 0)
        self.assertFalse(member.has_to_leave)
        member.hold(3)
        member.leave_after(2, 0)
        self.assertEqual((member.is_held, member.has_to_leave), (True, False))

    def test_the_end_of_its_round_ends_a_hold_and_then_it_does_not_leave_in_order(self):
        for limit in (None, 0):
            member = in_a_world()
            member.hold(3)
            if limit is not None:
                member.leave_after(3, limit)
            member.end_round(3)
            self.assertEqual((member.is_held, member.has_to_leave, member.leaves_in_order), (False, True, False))

    def test_who_is_held_at_the_end_of_its_loop_ends_in_the_world_that_follows(self):
        member = in_a_world()
        member.hold(3)
        self.assertFalse(member.end_loop())
        self.assertEqual((member.is_held, member.has_to_leave, member.leaves_in_order), (False, True, True))
        member.leave()
        member.enter(4)
        member.begin_training(line_round=3)
        self.assertTrue(member.end_loop())

    def test_who_is_not_held_at_the_end_of_its_loop_cannot_be_held_any_more(self):
        member = in_a_world()
        self.assertTrue(member.end_loop())
        self.assertEqual([member.hold(3), member.hold(4)], [-1, -1])
        self.assertEqual((member.is_held, member.has_to_leave), (False, False))
        member.end_round(3)
        self.assertEqual((member.has_to_leave, member.leaves_in_order), (True, False))

    def test_the_world_that_follows_is_not_held_and_goes_on_behind_the_last_step(self):
        member = in_a_world()
        member.hold(3)
        member.leave_after(3, 1)
        count_step(member)
        member.leave()
        member.enter(4)
        member.begin_training(line_round=3)
        self.assertEqual((member.is_held, member.has_to_leave), (False, False))
        count_step(member)
        self.assertEqual(member.hold(4), 2)


class SizeTest(unittest.TestCase):
    def test_who_needs_its_number_of_workers_refuses_another_one(self):
        member = Membership(resize=False)
        for size in (4, 4):
            member.require_size(size)
        with self.assertRaisesRegex(RuntimeError, r"a world of 3 workers follows one of 4, .* restart all of them"):
            member.require_size(3)
        with self.assertRaisesRegex(RuntimeError, "a world of 5 workers follows one of 4"):
            member.require_size(5)

    def test_who_does_not_need_it_takes_any(self):
        member = Membership()
        for size in (4, 3, 5):
            member.require_size(size)


def loaded(*names):
    return [Loaded(round_number, step, True, ["model"]) for round_number, step in names]


class LineTest(unittest.TestCase):
    def test_the_greatest_step_of_a_round_is_the_line_and_who_has_another_lacks_it(self):
        line = choose_line(loaded((1, 4), (1, 7), (1, 0), (1, 7)))
        self.assertEqual(line, (1, 7, [1, 3], [0, 2]))

    def test_a_step_of_a_later_round_comes_before_a_greater_one_that_somebody_cut_off_has_counted(self):
        self.assertEqual(choose_line(loaded((3, 813), (4, 812), (4, 811))), (4, 812, [1], [0, 2]))

    def test_a_torn_state_is_no_line_and_its_owner_lacks_it(self):
        members = loaded((2, 7), (2, 7), (2, 8))
        members[0] = members[0]._replace(whole=False)
        self.assertEqual(choose_line(members), (2, 8, [2], [0, 1]))
        self.assertEqual(choose_line(members[:2]), (2, 7, [1], [0]))
        self.assertIsNone(choose_line(members[:1]))

    def test_a_newcomers_step_does_not_replace_one_that_is_torn_on_all_that_had_it(self):
        for newcomer in ((0, 0), (2, 5)):
            torn, new = loaded((2, 7), newcomer)
            self.assertIsNone(choose_line([torn._replace(whole=False), new]))

    def test_nobody_lacks_anything_where_all_have_the_same_state(self):
        self.assertEqual(choose_line(loaded((1, 5), (1, 5))), (1, 5, [0, 1], []))

    def test_members_that_keep_other_parts_are_told(self):
        members = loaded((0, 0), (1, 3))
        self.assertIsNone(differing_parts(members))
        told = differing_parts([members[0], members[1]._replace(parts=["ema", "model"])])
        self.assertIn("rank 1 keeps the parts ema, model, and rank 0 keeps model", told)


if __name__ == "__main__":
    unittest.main()
