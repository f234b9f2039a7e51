"""What happens to an elastic loop while members change, in Python and C++, under an agent of the test."""

import json
import os
import signal
import subprocess
import sys
import time

from forked_workers import DEADLINE_S, free_port
from scripted_agent import ScriptedAgent


class Joins:
    """For a test that has a folder; program(options), the words of a training; and `ddprun`, which starts it."""

    def assert_goes_on_without_rank_1_until_another_one_comes_in(self, said):
        """Three processes train, and a fourth one takes the seat of the second."""
        entered_ones = worlds(self.folder, 3)
        self.assertEqual(len(entered_ones), 3, said)
        begun, without, whole = entered_ones
        self.assertEqual(without, {0: begun[0], 1: begun[2]})
        self.assertEqual([whole[0], whole[2]], [begun[0], begun[2]])
        self.assertNotIn(whole[1], begun.values())
        self.assert_stream(self.used(self.folder))

    def test_a_node_that_joins_starts_its_worker_beside_the_round_of_the_others(self):
        words = [self.ddprun(), "--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-id", "job",
                 "--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--rdzv-conf", "last_call_timeout=1",
                 *self.program(self.folder, {"steps": 10**9})]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHON_EXEC": sys.executable}
        nodes = []
        try:
            for number in range(2):
                said = open(self.folder / f"said.{number}", "w")
                with said:
                    nodes.append(subprocess.Popen(words, env=environment, stdout=said, stderr=said))
                until(lambda: all(len(entered(self.folder, rank)) > number - rank for rank in range(number + 1)),
                      "the workers of all nodes to be in a world")
        finally:
            for node in nodes:
                node.send_signal(signal.SIGINT)
            codes = [node.wait(DEADLINE_S) for node in nodes]
        texts = [(self.folder / f"said.{number}").read_text() for number in range(2)]
        self.assertEqual(codes, [130, 130], texts)
        self.assertIn("round 1 goes on without this node: starting a worker beside it", texts[1])
        self.assertIn("joined: the other workers stay, and leave the round", texts[0])
        # Each process was started once: the first rank has been in both worlds.
        pids = [entered(self.folder, rank) for rank in range(2)]
        self.assertEqual([len(set(of_rank)) for of_rank in pids], [1, 1])
        self.assertGreaterEqual(len(pids[0]), 2)


def entered(folder, rank):
    """The process ids that the rank has had, one for each world."""
    file = folder / f"open.{rank}"
    return [json.loads(line)[0] for line in file.read_text().splitlines()] if file.exists() else []


def worlds(folder, ranks):
    """Of each world that was entered, in their order, the process id of each rank."""
    found = {}
    for rank in range(ranks):
        file = folder / f"open.{rank}"
        for line in file.read_text().splitlines() if file.exists() else []:
            pid, _, _, number = json.loads(line)
            found.setdefault(int(number), {})[rank] = pid
    return [found[number] for number in sorted(found)]


def until(holds, what):
    end = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {DEADLINE_S} s for {what}")
        time.sleep(0.05)


class Changes:
    """For a test that has Records; work(folder, options), which trains as one worker; assert_same_end(one, other,
    without); and running_means, the tensors that are each rank's own until rank 0's come with a forward pass.
    """

    def train(self, workers, name="job", agent=ScriptedAgent, patience_s=30, **options):
        folder = self.folder / name
        folder.mkdir()
        scripted = agent(folder, workers, lambda: self.work(folder, options), patience_s)
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
                    self.assert_same_end(undisturbed, folder, without=self.running_means if rank == 0 else ())
                    if where == "before backward":  # else who was killed has not written what it used
                        self.assert_stream(self.used(folder))

    def test_a_worker_that_is_frozen_in_a_step_holds_nobody_up(self):
        class Killer(ScriptedAgent):
            """Finds that a worker is frozen, and asks the others to leave before it kills that one."""

            def hear(self, seconds):
                frozen = [rank for rank, worker in self.workers.items() if worker.is_frozen()]
                for rank in frozen:
                    worker = self.workers.pop(rank)
                    self.replace(rank)
                    os.kill(worker.pid, signal.SIGKILL)
                    os.waitpid(worker.pid, 0)
                return super().hear(0.05)

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

        _, failed, agent = self.train(2, agent=Mute, dies=[[1, 9]], patience_s=1)
        self.assertEqual(failed, [-signal.SIGKILL, 1])

    def test_who_needs_its_number_of_workers_goes_on_with_as_many_and_refuses_to_with_fewer(self):
        class Faithful(ScriptedAgent):
            resize = False

        class Shrinking(Faithful):
            def replace(self, rank):
                if self.workers:
                    self.say_to_all(type="leave", round=self.round)
                    self.await_parked()
                    self.count -= 1
                    self.enter_next_round()

        death = {"resize": False, "dies": [[1, 9]], "where": "before backward"}
        folder, failed, agent = self.train(2, "as many", agent=Faithful, **death)
        self.assertEqual(failed, [-signal.SIGKILL])
        self.assert_replaced(agent, 1)
        self.assert_stream(self.used(folder))
        folder, failed, agent = self.train(2, "fewer", agent=Shrinking, **death)
        self.assertEqual((failed, agent.round), ([-signal.SIGKILL, 1], 2))
        steps = [json.loads(line)[0] for line in (folder / "used.0").read_text().splitlines()]
        self.assertEqual(steps, list(range(1, 10)))

    def test_many_changes_leave_nothing_open(self):
        deaths = [[1, step] for step in range(2, 40, 4)]
        folder, failed, agent = self.train(2, steps=40, dies=deaths, where="before backward")
        self.assertEqual(failed, [-signal.SIGKILL] * len(deaths))
        # The process, its descriptors and its threads; behind them is the round.
        counts = [json.loads(line)[:3] for line in (folder / "open.0").read_text().splitlines()]
        self.assertEqual(len(counts), 1 + len(deaths))
        self.assertEqual(counts[1:], [counts[1]] * len(deaths))
        self.assert_stream(self.used(folder))
