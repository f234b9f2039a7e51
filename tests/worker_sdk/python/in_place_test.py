"""The elastic loop while members change, under an agent of this test and under ddprun.

    in_place_test.py DDPRUN [unittest's arguments]
"""

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import torch

import elastic_train
from elastic_changes import Changes, Joins, worlds
from elastic_test import PythonRecords
from entering_changes import EnteringChanges
from forked_workers import DEADLINE_S
from gentle_changes import GentleChanges
from scripted_agent import ScriptedAgent

ddprun_program = None


class InPlaceTest(Changes, GentleChanges, EnteringChanges, PythonRecords):
    running_means = {"1.running_mean", "1.running_var"}

    def work(self, folder, options):
        elastic_train.train(folder, options)

    def test_processes_of_a_data_loader_hold_nobody_up(self):
        folder, failed, agent = self.train(3, loader_processes=1, dies=[[2, 9]], where="before backward")
        self.assertEqual(failed, [-signal.SIGKILL])
        self.assert_replaced(agent, 2)
        self.assert_stream(self.used(folder))

    def test_who_cannot_be_freed_from_a_collective_says_so(self):
        class Patient(ScriptedAgent):
            """Asks the other worker to leave when one is frozen, and ends that one only when the other is stuck."""

            asked = False
            stuck = ()

            def hear(self, seconds):
                if not self.asked and self.workers[1].is_frozen():
                    self.asked = True
                    self.workers[0].say(type="leave", round=self.round)
                return super().hear(0.05)

            def heard(self, rank, message):
                super().heard(rank, message)
                if message["type"] == "stuck":
                    self.stuck += ((rank, message["round"]),)
                    os.kill(self.workers[1].pid, signal.SIGKILL)

        folder, failed, agent = self.train(2, agent=Patient, dies=[[1, 9]], where="before backward", how="SIGSTOP",
                                           deaf=0)
        self.assertEqual(agent.stuck, ((0, 1),))
        self.assertEqual(failed, [-signal.SIGKILL])
        self.assert_replaced(agent, 1)
        self.assert_stream(self.used(folder))


class UnderDdprunTest(Joins, PythonRecords):
    def ddprun(self):
        return ddprun_program

    def program(self, folder, options):
        return [Path(__file__).with_name("elastic_train.py"), folder, json.dumps(options)]

    def train(self, *arguments, expected=0, **options):
        """What ddprun says of 3 workers."""
        with open(self.folder / "said", "w") as said:
            # DDP imports torch._dynamo, which takes longer than torch.
            done = subprocess.run(
                [ddprun_program, "--standalone", "--nproc-per-node", "3", "--warm=torch._dynamo", *arguments,
                 *self.program(self.folder, options)],
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHON_EXEC": sys.executable},
                stdout=said, stderr=said, timeout=DEADLINE_S)
        text = (self.folder / "said").read_text()
        self.assertEqual(done.returncode, expected, text)
        return text

    def test_one_is_killed_and_the_others_go_on_without_it_until_another_one_comes_in(self):
        said = self.train("--max-restarts", "1", dies=[[1, 9]], where="before backward", whole=[15, 3])
        self.assertIn("rank 1 was killed by SIGKILL (signal 9): the other workers stay, and leave the round", said)
        self.assertIn("restart 1 of 1: in place, with 2 workers, while another one starts", said)
        self.assert_goes_on_without_rank_1_until_another_one_comes_in(said)

    def test_a_worker_that_hangs_is_not_waited_for(self):
        said = self.train("--max-restarts", "1", "--hang-timeout", "15", "--on-hang", "restart", dies=[[1, 9]],
                          where="before backward", how="SIGSTOP", whole=[15, 3])
        self.assertIn("rank 1 is stopped", said)
        self.assertNotIn("did not leave the round in time", said)
        self.assert_goes_on_without_rank_1_until_another_one_comes_in(said)

    def test_those_that_need_their_number_wait_for_the_other_worker(self):
        said = self.train("--max-restarts", "1", dies=[[1, 9]], where="before backward", resize=False)
        self.assertIn("restart 1 of 1: in place", said)
        before, behind = worlds(self.folder, 3)
        self.assertEqual([before[rank] == behind[rank] for rank in range(3)], [True, False, True])

    def test_the_others_end_without_one_that_comes_too_late(self):
        said = self.train("--max-restarts", "1", dies=[[1, 9]], where="before backward", how="error", ended=[0, 1])
        self.assertIn("restart 1 of 1: in place, with 2 workers", said)
        self.assertNotIn("stopping all workers", said)
        begun, without = worlds(self.folder, 3)
        self.assertEqual(without, {0: begun[0], 1: begun[2]})
        steps = [json.loads(line)[0] for line in (self.folder / "used.0").read_text().splitlines()]
        self.assertEqual(steps, list(range(1, 21)))

    def test_the_budget_ends_a_job_whose_workers_could_stay(self):
        said = self.train("--max-restarts", "1", dies=[[1, 9], [2, 13]], where="before backward", whole=[12, 3],
                          expected=137)
        self.assertIn("rank 2 was killed by SIGKILL (signal 9): stopping all workers", said)

    def test_all_are_started_anew_where_the_user_wants_it(self):
        said = self.train("--max-restarts", "1", "--no-in-place", dies=[[1, 9]], where="before backward")
        before, behind = worlds(self.folder, 3)
        self.assertEqual(set(before.values()) & set(behind.values()), set())
        self.assertIn("restart 1 of 1: starting 3 workers again", said)


if __name__ == "__main__":
    torch.set_num_threads(1)
    ddprun_program = sys.argv.pop(1)
    unittest.main()
