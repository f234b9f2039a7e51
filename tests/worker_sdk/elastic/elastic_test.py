"""The elastic loop of C++ while members change: alone, under an agent of this test, and under ddprun.

    elastic_test.py DDPRUN ELASTIC_WORKER [unittest's arguments]
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from elastic_changes import Changes, Joins  # noqa: E402
from elastic_records import Records, state_in  # noqa: E402
from entering_changes import EnteringChanges  # noqa: E402
from forked_workers import DEADLINE_S, on_workers  # noqa: E402
from ddprun._heartbeat import (COUNT, FIRST_ENTRY, LOSS, NUMBERS, SAMPLES_PER_SECOND, SLOT_BYTES,  # noqa: E402
                               STEP, TOTAL_STEPS)
from gentle_changes import GentleChanges  # noqa: E402

ddprun_program = elastic_worker = None

# A BatchNorm's running means are each rank's own until rank 0's come with the next forward pass.
RUNNING_MEANS = {"model/1.running_mean", "model/1.running_var"}


class InCpp(Records):
    def assert_same_end(self, one, other, without=()):
        (tensors, texts), (others, other_texts) = (state_in(folder / "end.0.safetensors") for folder in (one, other))
        self.assertEqual(tensors.keys(), others.keys())
        for name in tensors.keys() - without:
            self.assertEqual(tensors[name], others[name], name)
        for name in texts.keys() - {"round"}:
            self.assertEqual(texts[name], other_texts[name], name)


class ChangeTest(Changes, GentleChanges, EnteringChanges, InCpp):
    running_means = RUNNING_MEANS

    def work(self, folder, options):
        os.execv(elastic_worker, [elastic_worker, str(folder), json.dumps(options)])


class LaunchTest(Joins, InCpp):
    def ddprun(self):
        return ddprun_program

    def program(self, folder, options):
        return ["--no-python", elastic_worker, folder, json.dumps(options)]

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

    def test_workers_in_two_languages_are_told_that_their_states_differ(self):
        in_python = Path(__file__).resolve().parents[1] / "python" / "elastic_train.py"

        def work():
            rank = os.environ["RANK"]
            os.dup2(os.open(self.folder / f"said.{rank}", os.O_CREAT | os.O_WRONLY), 2)
            program = [sys.executable, str(in_python)] if rank == "0" else [elastic_worker]
            os.execv(program[0], [*program, str(self.folder), "{}"])

        self.assertEqual(on_workers(2, work), [1, 1])
        self.assertIn("rank 1 keeps the parts model (C++ module)", (self.folder / "said.0").read_text())

    def test_it_runs_without_a_launcher(self):
        subprocess.run([elastic_worker, self.folder, json.dumps({"steps": 9})], check=True, timeout=DEADLINE_S)
        self.assertEqual([len(step) for step in self.used(self.folder)], [12] * 9)

    def test_it_tells_its_agent_the_step_the_loss_and_the_samples_and_how_many_steps_there_are(self):
        slot = self.folder / "slot"
        slot.write_bytes(bytes(SLOT_BYTES))
        subprocess.run([elastic_worker, self.folder, json.dumps({"steps": 9})], check=True, timeout=DEADLINE_S,
                       env={**os.environ, "DDPRUN_HEARTBEAT": f"{slot}:0"})
        integers, reals = (memoryview(slot.read_bytes()).cast(kind) for kind in "qd")
        entry = FIRST_ENTRY + NUMBERS * (integers[COUNT] % 2)
        self.assertEqual((integers[COUNT], integers[entry + STEP], integers[TOTAL_STEPS]), (9, 9, 9))
        self.assertGreater(reals[entry + LOSS], 0)
        self.assertGreater(reals[entry + SAMPLES_PER_SECOND], 0)

    def test_under_ddprun_one_is_killed_and_the_others_go_on_without_it_until_another_one_comes_in(self):
        options = {"dies": [[1, 9]], "where": "before backward", "slow": [15, 3], "steps": 400}
        done = subprocess.run([ddprun_program, "--standalone", "--nproc-per-node", "3", "--max-restarts", "1",
                               "--no-python", elastic_worker, self.folder, json.dumps(options)],
                              env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("restart 1 of 1: in place, with 2 workers, while another one starts", done.stdout)
        self.assert_goes_on_without_rank_1_until_another_one_comes_in(done.stdout)


if __name__ == "__main__":
    torch.set_num_threads(1)
    ddprun_program, elastic_worker = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
