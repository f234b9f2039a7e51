"""The elastic loop with torch: alone, under torchrun and ddprun, and on workers that this test forks.

    elastic_test.py DDPRUN [unittest's arguments]
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

import torch
from torch.utils.data import DistributedSampler

import elastic_train
from elastic_records import Records, SAMPLES
from forked_workers import DEADLINE_S, on_workers

import ddprun  # forked_workers has put its folder into the path
from ddprun import _batches, _meeting, _nccl
from ddprun._light_copy import LightCopy
from ddprun._membership import WorldChanged

PROGRAM = Path(__file__).with_name("elastic_train.py")
ddprun_program = None


def open_sockets():
    """Those of this process, by their names."""
    folder = Path("/proc/self/fd")
    return {os.readlink(file) for file in folder.iterdir() if file.is_socket()}


class PythonRecords(Records):
    def assert_same_end(self, one, other, without=()):
        first, second = (torch.load(folder / "end.0.pt") for folder in (one, other))
        for name in first["model"].keys() - without:
            self.assertTrue(torch.equal(first["model"][name], second["model"][name]), name)
        for key, state in first["optimizer"]["state"].items():
            for name, tensor in state.items():
                self.assertTrue(torch.equal(tensor, second["optimizer"]["state"][key][name]), name)
        for name in ("step", "batches", "schedule"):
            self.assertEqual(first[name], second[name])


class ElasticTest(PythonRecords):
    def train(self, workers, name="job", expected=0, **options):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        codes = on_workers(workers, lambda: elastic_train.train(folder, options))
        self.assertEqual(codes, [expected] * workers)
        return folder

    def launch(self, *command, name, **options):
        folder = self.folder / name
        folder.mkdir()
        said = folder / "said"
        with open(said, "w") as output, mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}):
            code = subprocess.run([*command, PROGRAM, folder, json.dumps(options)], timeout=DEADLINE_S,
                                  stdout=output, stderr=output).returncode
        self.assertEqual(code, 0, said.read_text())
        return folder

    def test_it_goes_on_in_the_middle_of_an_epoch_with_any_number_of_workers(self):
        for workers, steps in ((3, 4), (2, 12), (5, 16), (1, 24)):
            folder = self.train(workers, steps=steps)
        steps = self.used(folder)
        self.assertEqual([len(step) for step in steps], [12] * 12 + [10] * 4 + [12] * 8)
        self.assert_stream(steps)

    def test_a_local_batch_makes_the_steps_of_more_workers_longer(self):
        batches = {"local_batch": 6, "micro_batch": 2, "seed": 7}
        for workers, steps in ((2, 4), (3, 8), (1, 12)):
            folder = self.train(workers, batches=batches, steps=steps, loader_processes=1)
        steps = self.used(folder)
        self.assertEqual([len(step) for step in steps], [12] * 4 + [18] * 4 + [6] * 4)
        self.assert_stream(steps)

    def test_weights_after_a_restart_are_those_of_an_undisturbed_run_to_the_bit(self):
        undisturbed = self.train(2, "undisturbed")
        # DDP imports torch._dynamo, which takes longer than torch.
        command = [ddprun_program, "--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "--no-in-place",
                   "--warm=torch._dynamo"]
        with mock.patch.dict(os.environ, {"PYTHON_EXEC": sys.executable}):
            folder = self.launch(*command, name="killed", dies=[[1, 13]])
        self.assertIn("SIGKILL", (folder / "said").read_text())
        self.assertEqual(torch.load(folder / "end.0.pt")["step"], 20)
        self.assert_same_end(undisturbed, folder)
        self.assert_stream(self.used(folder))

    def test_what_a_forward_pass_has_changed_is_put_back_to_the_last_counted_step(self):
        norm = torch.nn.BatchNorm1d(4)
        copy = LightCopy([norm, torch.nn.Linear(2, 2)])
        norm(torch.randn(8, 4))
        copy.take()
        kept = {name: buffer.clone() for name, buffer in norm.named_buffers()}
        norm(torch.randn(8, 4))
        copy.put_back()
        for name, buffer in norm.named_buffers():
            self.assertTrue(torch.equal(buffer, kept[name]), name)

    def test_what_a_gpu_has_reduced_counts_only_where_the_world_goes_on_behind_it(self):
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=1)
        run = ddprun.ElasticRun(model=model, optimizer=optimizer)

        def end_world():  # while the program waits for the GPU: it is freed, and has garbage then
            run._membership.end_round(run._membership.world)

        with mock.patch.object(_nccl, "await_gpu", end_world), mock.patch.object(_nccl, "forget_groups"):
            with self.assertRaises(WorldChanged):
                for world in run.worlds("gloo"):
                    world._frees_gpu = True
                    with world:
                        model(torch.ones(1, 2)).sum().backward()
                        with world.update():
                            optimizer.step()
        self.assertEqual(run.step, 0)
        torch.distributed.destroy_process_group()

    def test_it_runs_without_a_launcher_and_under_torchrun(self):
        alone = self.launch(sys.executable, name="alone", steps=9)
        self.assert_stream(self.used(alone))
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                    "--max-restarts", "1"]
        restarted = self.launch(*torchrun, name="torchrun", steps=9, dies=[[0, 6]])
        self.assert_stream(self.used(restarted))
        self.assert_same_end(self.train(2, "undisturbed", steps=9), restarted)

    def test_members_that_begin_with_different_states_are_refused_where_states_are_compared(self):
        self.train(3, steps=4)
        self.train(3, steps=8, strays=1, expected=1)
        self.assertEqual(_meeting.decide_whether_states_differ(["a", "a"]), {})
        self.assertIn("by rank: 0, 2; 1.", _meeting.decide_whether_states_differ(["a", "b", "a"])["refused"])
        with mock.patch.dict(os.environ, {"DDPRUN_CHECK_STATE": ""}):
            self.train(3, steps=8, strays=1)

    def test_who_has_loaded_less_gets_the_state_of_who_has_loaded_most(self):
        self.train(3, "all", steps=8)
        self.train(3, "one", steps=8)
        all_load = self.train(3, "all", steps=16, init=1)
        one_loads = self.train(3, "one", steps=16, init=1, loads=2)
        self.assert_same_end(all_load, one_loads)
        ends = [torch.load(one_loads / f"end.{rank}.pt") for rank in range(3)]
        for name, parameter in ends[0]["model"].items():
            if not name.startswith("1."):  # running means of a BatchNorm are each rank's own
                self.assertTrue(all(torch.equal(parameter, end["model"][name]) for end in ends), name)

    def test_the_order_of_an_epoch_is_that_of_the_distributed_sampler(self):
        sampler = DistributedSampler(range(100), 1, 0, seed=4)
        for epoch in range(3):
            sampler.set_epoch(epoch)
            self.assertEqual(_batches.shuffled(100, 4, epoch).tolist(), list(sampler))


class RefusedTest(unittest.TestCase):
    """One process without a launcher, in which the group is made and destroyed by each test."""

    def setUp(self):
        without = {name: value for name, value in os.environ.items() if name != "WORLD_SIZE"}
        patch = mock.patch.dict(os.environ, without, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        self.run_, self.model, self.optimizer, self.schedule, self.batches = elastic_train.make_run(
            elastic_train.OPTIONS)

    def assert_refused(self, expected, within_the_loop, error=RuntimeError):
        with self.assertRaisesRegex(error, expected):
            for world in self.run_.worlds("gloo"):
                with world:
                    ddp = world.wrap(self.model)
                    for indices in world.batches(self.batches, steps=3):
                        ddp(torch.zeros(len(indices), 8)).sum().backward()
                        within_the_loop(world)
        self.assertFalse(torch.distributed.is_initialized())

    def update(self, world):
        with world.update():
            self.optimizer.step()
            self.optimizer.zero_grad()

    def test_gradients_that_are_applied_outside_of_an_update(self):
        self.assert_refused(r"optimizer.step\(\) outside", lambda world: self.optimizer.step())

    def test_a_step_without_an_update(self):
        self.assert_refused("step 1 has passed without its world.update", lambda world: None)

    def test_a_batch_of_another_loader(self):
        self.assert_refused("whose batch_sampler is the Batches", lambda world: world.batches([1]), ValueError)

    def test_saving_within_an_update_and_after_one_that_has_failed(self):
        def save(world):
            with world.update():
                self.run_.state_dict()
        self.assert_refused("in the middle of an update", save)
        with self.assertRaisesRegex(RuntimeError, "torn"):
            self.run_.state_dict()

    def test_a_world_that_is_not_entered(self):
        with self.assertRaisesRegex(RuntimeError, "use it as `with world:`"):
            for _ in self.run_.worlds("gloo"):
                pass

    def test_a_part_that_cannot_travel_is_told_behind_the_first_update(self):
        odd = mock.Mock(spec=["state_dict", "load_state_dict"], **{"state_dict.return_value": {"x": object()}})
        self.run_.keep("odd", odd)
        self.assert_refused(r"the state of 'odd'\['x'\] is of the type object", self.update, TypeError)

    def test_parts_that_differ_from_those_of_the_state_that_is_loaded(self):
        state = self.run_.state_dict()
        del state["schedule"]
        state["ema"] = {}
        with self.assertRaisesRegex(ValueError, "differ in their parts: ema, schedule"):
            self.run_.load_state_dict(state)

    def test_names_and_parts_that_cannot_be_kept(self):
        for name, part, error, expected in (
            ("step", self.model, ValueError, "'step' is the name of another"),
            ("model", self.model, ValueError, "'model' is the name of another"),
            ("number", 3, TypeError, "'number' is of the type int, which has no state_dict"),
            ("more", ddprun.Batches(1, local_batch=1), ValueError, "'more' is a second Batches"),
        ):
            with self.assertRaisesRegex(error, expected):
                self.run_.keep(name, part)

    def test_a_ddp_of_a_world_that_has_ended_holds_nothing_of_its_group(self):
        before = open_sockets()
        kept = []
        for world in self.run_.worlds("gloo"):
            with world:
                kept.append(world.wrap(self.model))
                self.assertGreater(open_sockets(), before)
        self.assertIsNone(kept[0].process_group)
        self.assertFalse(torch.distributed.is_initialized())
        self.assertEqual(open_sockets(), before)
        self.model(torch.zeros(2, 8)).sum().backward()  # no hook of the old DDP is left


if __name__ == "__main__":
    torch.set_num_threads(1)
    ddprun_program = sys.argv.pop(1)
    unittest.main()
