"""What happens to an elastic loop whose members change while nobody is lost: no step is dropped."""

import json
import os
import signal
import time

from scripted_agent import ScriptedAgent

HELD_S = 0.1  # in which a worker gets as far as it can
ENDING_S = 1.0  # from a worker's last step to its last barrier, of which nobody hears


class GentleAgent(ScriptedAgent):
    """Holds all workers once, when those that are to wait do so, and lets them leave behind a step that all count."""

    waiting = (1,)  # their ranks

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.answers = []  # each rank's, for each change
        self.limits = []
        self.left_after = []  # the last step that each rank has counted, for each change

    def hear(self, seconds):
        if self.has_to_change():
            self.change()
        return super().hear(0.01)

    def heard(self, rank, message):
        super().heard(rank, message)
        if message["type"] == "holding":
            assert message["round"] == self.round, message
            self.answers[-1][rank] = message["step"]

    def has_to_change(self):
        return not self.answers and all((self.folder / f"waits.{rank}").exists() for rank in self.waiting)

    def change(self):
        self.hold()
        self.release(*self.waiting)
        self.leave()
        self.enter()

    def hold(self):
        self.answers.append({})
        self.say_to_all(type="hold", round=self.round)
        self.read_until(lambda: len(self.answers[-1]) == len(self.workers))

    def release(self, *ranks):
        for rank in ranks:
            (self.folder / f"released.{rank}").touch()
        time.sleep(HELD_S)

    def leave(self):
        answers = self.answers[-1].values()
        if min(answers) < 0:
            self.say_to_all(type="leave", round=self.round)
        else:
            self.limits.append(max(answers) + 1)
            self.say_to_all(type="leave_after", round=self.round, step=self.limits[-1])

    def enter(self):
        self.await_parked()
        self.left_after.append({rank: self.counted(rank)[-1] for rank in self.workers})
        self.enter_next_round()

    def counted(self, rank):
        """The steps that this rank has noted, one behind the other."""
        file = self.folder / f"used.{rank}"
        return [json.loads(line)[0] for line in file.read_text().splitlines()] if file.exists() else []


class GentleChanges:
    """For a test that has Changes and Records. Nobody is lost, but where a test says so."""

    def change_gently(self, workers, name, waits, waiting=(1,), **options):
        agent_class = type("Agent", (GentleAgent,), {"waiting": waiting})
        folder, failed, agent = self.train(workers, name, agent=agent_class, waits=[waiting, *waits], **options)
        self.assertEqual(failed, [])
        self.assert_replaced(agent)
        return folder, agent

    def assert_each_step_was_counted_once(self, agent, steps, ranks):
        for rank in ranks:
            self.assertEqual(agent.counted(rank), list(range(1, steps + 1)), f"rank {rank}")

    def assert_all_have_left_behind_the_limit(self, agent):
        self.assertEqual(agent.left_after, [dict.fromkeys(range(agent.count), limit) for limit in agent.limits])

    def test_members_change_again_and_again_and_no_step_is_dropped(self):
        class Restless(GentleAgent):
            """Changes the members when the first one has counted some steps more, wherever the others are."""

            def has_to_change(self):
                return 3 * self.round <= max(self.counted(0), default=0) < 40

        folder, failed, agent = self.train(3, agent=Restless, steps=50)
        self.assertEqual(failed, [])
        self.assert_replaced(agent)
        self.assertGreater(len(agent.limits), 5)
        self.assert_all_have_left_behind_the_limit(agent)
        self.assert_each_step_was_counted_once(agent, 50, range(3))
        self.assert_stream(self.used(folder))

    def test_a_change_ends_like_an_undisturbed_training_wherever_a_worker_is(self):
        undisturbed, failed, _ = self.train(2, "undisturbed")
        self.assertEqual(failed, [])
        for where, step, answer in (("before backward", 9, 9), ("behind backward", 9, 9), ("within the update", 9, 10),
                                    ("behind the update", 10, 10)):
            with self.subTest(where=where):
                folder, agent = self.change_gently(2, where, waits=[step, where])
                self.assertEqual(agent.answers[0][1], answer)
                self.assert_all_have_left_behind_the_limit(agent)
                self.assert_each_step_was_counted_once(agent, 20, range(2))
                self.assert_stream(self.used(folder))
                self.assert_same_end(undisturbed, folder)

    def test_who_has_counted_the_last_step_waits_for_those_that_count_it_later(self):
        class Uneven(GentleAgent):
            waiting = (0, 1)

            def change(self):
                self.hold()
                self.leave()
                self.release(0)
                self.release(1)
                self.enter()

        folder, failed, agent = self.train(2, agent=Uneven, waits=[[0, 1], 9, "behind backward"])
        self.assertEqual(failed, [])
        self.assertEqual((agent.answers, agent.limits), ([{0: 9, 1: 9}], [10]))
        self.assert_all_have_left_behind_the_limit(agent)
        self.assert_each_step_was_counted_once(agent, 20, range(2))

    def test_who_is_held_goes_on_without_one_that_is_killed_meanwhile(self):
        class Killer(GentleAgent):
            """Says no limit."""

            def change(self):
                self.hold()
                self.release(1)
                self.counted_while_held = {rank: self.counted(rank)[-1] for rank in self.workers}
                os.kill(self.workers[1].pid, signal.SIGKILL)

        folder, failed, agent = self.train(3, agent=Killer, waits=[[1], 9, "before backward"])
        self.assertEqual(failed, [-signal.SIGKILL])
        self.assert_replaced(agent, 1)
        self.assertEqual(agent.answers, [{0: 9, 1: 9, 2: 9}])
        self.assertEqual(agent.counted_while_held, agent.answers[0])
        self.assert_each_step_was_counted_once(agent, 20, range(3))
        self.assert_stream(self.used(folder))

    def test_who_is_held_and_loses_its_agent_fails(self):
        class Leaving(GentleAgent):
            def change(self):
                self.hold()
                self.release(1)
                for worker in self.workers.values():
                    worker.line.close()
                    worker.line = None

            def replace(self, rank):
                pass

        _, failed, _ = self.train(2, agent=Leaving, waits=[[1], 9, "before backward"])
        self.assertEqual(failed, [1, 1])

    def test_who_waits_behind_its_last_step_goes_on_without_one_that_dies_there(self):
        class Unsuspecting(GentleAgent):
            """Says the limit, and hears only then that a worker has died."""

            def change(self):
                self.hold()
                self.release(1)
                self.leave()

        folder, failed, agent = self.train(3, agent=Unsuspecting, waits=[[1], 9, "before backward"], dies=[[1, 10]],
                                           where="behind the update")
        self.assertEqual(failed, [-signal.SIGKILL])
        self.assert_replaced(agent, 1)
        self.assertEqual(agent.limits, [10])
        self.assert_each_step_was_counted_once(agent, 20, (0, 2))

    def test_a_change_within_the_last_step_drops_nothing(self):
        folder, agent = self.change_gently(2, "job", waits=[19, "before backward"])
        self.assertEqual(agent.limits, [20])
        self.assert_all_have_left_behind_the_limit(agent)
        self.assert_each_step_was_counted_once(agent, 20, range(2))

    def test_who_is_held_behind_the_last_step_of_all_ends_in_the_world_that_follows(self):
        folder, agent = self.change_gently(2, "job", waits=[20, "behind the update"], waiting=(0, 1))
        self.assertEqual((agent.answers, agent.limits), ([{0: 20, 1: 20}], [21]))
        self.assert_each_step_was_counted_once(agent, 20, range(2))
        self.assertEqual(agent.round, 2)

    def test_who_has_ended_its_loop_already_is_not_held_and_all_leave_at_once(self):
        class Late(GentleAgent):
            def has_to_change(self):
                return super().has_to_change() and self.counted(0)[-1:] == [20]

            def hold(self):
                time.sleep(ENDING_S)
                super().hold()

        folder, failed, agent = self.train(2, agent=Late, waits=[[1], 20, "behind the update"])
        self.assertEqual(failed, [])
        self.assert_replaced(agent)
        self.assertEqual((agent.answers, agent.limits), ([{0: -1, 1: 20}], []))
        self.assert_each_step_was_counted_once(agent, 20, range(2))
