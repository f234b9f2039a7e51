"""The elastic loop of C++ while members change: alone, under an agent of this test, and under ddprun.

    elastic_test.py DDPRUN ELASTIC_WORKER [unittest's arguments]
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from elastic_records import Records  # noqa: E402
from forked_workers import DEADLINE_S, on_workers  # noqa: E402
from scripted_agent import ScriptedAgent  # noqa: E402

ddprun_program = elastic_worker = None

# A BatchNorm's running means are each rank's own until rank 0's come with the next forward pass.
RUNNING_MEANS = {"model/1.running_mean", "model/1.running_var"}


def state_in(file):
    """The bytes of each tensor of a safetensors file, and its texts."""
    content = file.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    texts = header.pop("__metadata__")
    return {name: content[begin + entry["data_offsets"][0] : begin + entry["data_offsets"][1]]
            for name, entry in header.items()}, texts


class InCpp(Records):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_same_end(self, one, other, without=()):
        (tensors, texts), (others, other_texts) = (state_in(folder / "end.0.safetensors") for folder in (one, other))
        self.assertEqual(tensors.keys(), others.keys())
        for name in tensors.keys() - without:
            self.assertEqual(tensors[name], others[name], name)
        for name in texts.keys() - {"round"}:
            self.assertEqual(texts[name], other_texts[name], name)


class ChangeTest(InCpp):
    def train(self, workers, name="job", agent=ScriptedAgent, patience_s=30, **options):
        folder = self.folder / name
        folder.mkdir()
        words = [elastic_worker, str(folder), json.dumps(options)]
        scripted = agent(folder, workers, lambda: os.execv(words[0], words), patience_s)
        return folder, scripted.run(), scripted

    def assert_replaced(self, agent, *ranks):
        self.assertEqual([len(pids) for pids in agent.pids.values()],
                         [2 if rank in ranks else 1 for rank in range(agent.count)])

    def test_who_is_not_lost_keeps_its_process_and_its_state(self):
        undisturbed, failed, _ = self.train(2, "undisturbed")
        self.assertEqual(failed, [])
        self.assert_stream(self.used(undisturbed))
        for where in ("before backward", "behind backward", "within the update", "behind the update"):
            for rank in (0, 1):
                with self.subTest(where=where, rank=rank):
                    folder, failed, agent = self.train(2, f"{where} {rank}", dies=[[rank, 13]], where=where)
                    self.assertEqual(failed, [-signal.SIGKILL])
                    self.assert_replaced(agent, rank)
                    self.assert_same_end(undisturbed, folder, without=RUNNING_MEANS if rank == 0 else ())
                    if where == "before backward":  # else who was killed has not written what it used
                        self.assert_stream(self.used(folder))

    def test_a_worker_that_is_frozen_in_a_step_holds_nobody_up(self):
        class Killer(ScriptedAgent):
            """Finds that a worker is frozen, and asks the others to leave before it kills that one."""

            def hear(self, seconds):
                for rank in [rank for rank, worker in self.workers.items() if self.is_frozen(worker)]:
                    worker = self.workers.pop(rank)
                    self.replace(rank)
                    os.kill(worker.pid, signal.SIGKILL)
                    os.waitpid(worker.pid, 0)
                return super().hear(0.05)

            def is_frozen(self, worker):
                return Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

        folder, failed, agent = self.train(3, agent=Killer, dies=[[1, 9]], where="before backward", how="SIGSTOP")
        self.assertEqual(failed, [])
        self.assert_replaced(agent, 1)
        self.assert_stream(self.used(folder))

    def test_a_worker_that_is_lost_while_a_world_is_entered_is_replaced_as_well(self):
        class Cruel(ScriptedAgent):
            """Kills the first one that it starts in place of another, as soon as that wants to enter the world."""

            def greet(self):
                super().greet()
                if self.round == 2 and not self.killed:
                    self.killed = True
                    os.kill(self.workers[1].pid, signal.SIGKILL)

            killed = False

        folder, failed, agent = self.train(3, agent=Cruel, dies=[[1, 9]], where="before backward")
        self.assertEqual(failed, [-signal.SIGKILL] * 2)
        self.assertEqual([len(agent.pids[rank]) for rank in range(3)], [1, 3, 1])
        self.assert_stream(self.used(folder))

    def test_a_program_that_goes_on_after_any_error_leaves_the_world_all_the_same(self):
        folder, failed, agent = self.train(2, dies=[[0, 9]], where="before backward", catches=True)
        self.assertEqual(failed, [-signal.SIGKILL])
        self.assert_replaced(agent, 0)
        self.assert_stream(self.used(folder))
        # Its state is whole, so that nobody goes back to the checkpoint of step 8.
        steps = [json.loads(line)[0] for line in (folder / "used.1").read_text().splitlines()]
        self.assertEqual(steps, list(range(1, 21)))

    def test_an_error_of_the_program_ends_its_process_and_no_other(self):
        folder, failed, agent = self.train(2, dies=[[1, 9]], where="before backward", how="error")
        self.assertEqual(failed, [1])
        self.assert_replaced(agent, 1)
        self.assert_stream(self.used(folder))

    def test_who_has_lost_a_peer_and_gets_no_order_fails_with_the_error(self):
        class Mute(ScriptedAgent):
            def replace(self, rank):
                pass

        _, failed, _ = self.train(2, agent=Mute, dies=[[1, 9]], patience_s=1)
        self.assertEqual(failed, [-signal.SIGKILL, 1])

    def test_many_changes_leave_nothing_open(self):
        deaths = [[1, step] for step in range(2, 40, 4)]
        folder, failed, _ = self.train(2, steps=40, dies=deaths, where="before backward")
        self.assertEqual(failed, [-signal.SIGKILL] * len(deaths))
        counts = [json.loads(line) for line in (folder / "open.0").read_text().splitlines()]
        self.assertEqual(len(counts), 1 + len(deaths))
        self.assertEqual(counts[1:], [counts[1]] * len(deaths))
        self.assert_stream(self.used(folder))


class LaunchTest(InCpp):
    def train(self, workers, expected=0, **options):
        words = [elastic_worker, str(self.folder), json.dumps(options)]
        codes = on_workers(workers, lambda: os.execv(words[0], words))
        self.assertEqual(codes, [expected] * workers)

    def test_it_goes_on_in_the_middle_of_an_epoch_with_any_number_of_workers(self):
        for workers, steps in ((3, 4), (2, 12), (5, 16), (1, 24)):
            self.train(workers, steps=steps)
        steps = self.used(self.folder)
        self.assertEqual([len(step) for step in steps], [12] * 12 + [10] * 4 + [12] * 8)
        self.assert_stream(steps)

    def test_a_step_may_have_several_parts(self):
        self.train(2, steps=6, micro_batch=2)
        steps = self.used(self.folder)
        self.assertEqual([len(step) for step in steps], [12] * 6)
        self.assert_stream(steps)

    def test_workers_that_have_loaded_nothing_get_the_state_of_who_has(self):
        self.train(2, steps=8)
        self.train(3, steps=16, loads=2)
        self.assert_stream(self.used(self.folder))
        ends = [state_in(self.folder / f"end.{rank}.safetensors") for rank in range(3)]
        for tensors, texts in ends[1:]:
            self.assertEqual(texts, ends[0][1])
            self.assertEqual([name for name in tensors if tensors[name] != ends[0][0][name]
                              and name not in RUNNING_MEANS], [])

    def test_members_that_begin_with_different_states_are_told(self):
        self.train(2, steps=8)
        self.train(2, expected=1, steps=16, strays=1)

    def test_it_runs_without_a_launcher(self):
        subprocess.run([elastic_worker, self.folder, json.dumps({"steps": 9})], check=True, timeout=DEADLINE_S)
        self.assertEqual([len(step) for step in self.used(self.folder)], [12] * 9)

    def test_under_ddprun_one_is_killed_and_the_others_keep_their_processes(self):
        options = {"dies": [[1, 9]], "where": "before backward"}
        done = subprocess.run([ddprun_program, "--standalone", "--nproc-per-node", "3", "--max-restarts", "1",
                               "--no-python", elastic_worker, self.folder, json.dumps(options)],
                              env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("restart 1 of 1: in place, with another worker for each that is lost", done.stdout)
        processes = [[json.loads(line)[0] for line in (self.folder / f"open.{rank}").read_text().splitlines()]
                     for rank in range(3)]
        self.assertEqual([len(of_rank) for of_rank in processes], [2, 2, 2])
        self.assertEqual([len(set(of_rank)) for of_rank in processes], [1, 2, 1])
        self.assert_stream(self.used(self.folder))


if __name__ == "__main__":
    torch.set_num_threads(1)
    ddprun_program, elastic_worker = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
