#!/usr/bin/env python3
"""Jobs that Python starts, by the real ddprun: launch_test.py DDPRUN [unittest's arguments]"""

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
MODULE = HERE.parents[2] / "worker_sdk" / "python"
DDPRUN = str(Path(sys.argv.pop(1)).resolve())
os.environ["PATH"] = os.path.dirname(DDPRUN) + os.pathsep + os.environ["PATH"]
sys.path[:0] = [str(MODULE), str(HERE / "launch")]

import ddprun  # noqa: E402
import functions  # noqa: E402
from ddprun._answers import WorkerTraceback  # noqa: E402


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{seconds} s went by")
        time.sleep(0.02)


def is_alive(pid):
    """A zombie is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out, self.err = io.StringIO(), io.StringIO()
        self.enterContext(contextlib.redirect_stdout(self.out))
        self.enterContext(contextlib.redirect_stderr(self.err))

    def enterContext(self, manager):  # unittest has it from Python 3.11 on
        value = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return value

    def failure_of(self, function, *arguments, **options):
        with self.assertRaises(ddprun.LaunchError) as caught:
            ddprun.launch(function, *arguments, nproc_per_node=2, **options)
        return caught.exception

    def both_run(self):
        """The processes of the workers of runs_until_it_is_stopped()."""
        files = [self.folder / f"runs_{rank}" for rank in (0, 1)]
        until(lambda: all(file.exists() and file.read_text() for file in files))
        return [int(file.read_text()) for file in files]

    def test_results_come_by_rank_and_output_shows_where_print_goes(self):
        results = ddprun.launch(functions.place, "a", 2, nproc_per_node=2)
        self.assertEqual(results, [(0, 2, ("a", 2)), (1, 2, ("a", 2))])
        self.assertIn("rank 0 says hello\n", self.out.getvalue())
        self.assertIn("rank 1 says hello\n", self.out.getvalue())

    def test_workers_meet_in_torch(self):
        self.assertEqual(ddprun.launch(functions.mean_rank, nproc_per_node=2), [0.5, 0.5])

    def test_an_exception_of_a_rank_is_the_cause(self):
        error = self.failure_of(functions.fails_on, 1)
        self.assertIn("rank 1", str(error))
        self.assertIn("KeyError at functions.py", str(error))
        self.assertEqual((error.ranks, error.exit_code), ([1], 1))
        self.assertEqual(error.report["cause"]["exception"]["type"], "KeyError")
        self.assertEqual(repr(error.__cause__), "KeyError('no such shard')")
        self.assertIsInstance(error.__cause__.__cause__, WorkerTraceback)
        self.assertIn('raise KeyError("no such shard")', "".join(traceback.format_exception(None, error, None)))

    def test_an_exception_that_cannot_be_read_here_is_told_as_text(self):
        error = self.failure_of(functions.raises_what_nobody_can_read)
        self.assertIsInstance(error.__cause__, WorkerTraceback)
        self.assertIn("Unpicklable: one and two", str(error.__cause__))

    def test_a_result_that_cannot_be_sent_is_an_error_of_the_rank(self):
        error = self.failure_of(functions.returns_what_cannot_be_sent)
        self.assertIn("the result of returns_what_cannot_be_sent() cannot be sent back: ", str(error.__cause__))
        self.assertIn("generator", str(error.__cause__))

    def test_a_kill_is_told_with_its_rank(self):
        error = self.failure_of(functions.is_killed_on, 1)
        self.assertIn("was killed by SIGKILL", str(error))
        self.assertEqual(error.ranks, [1])
        self.assertIsNone(error.__cause__)

    def test_a_rank_that_leaves_without_a_result_is_named(self):
        self.assertIn("rank 1 has ended without a result", str(self.failure_of(functions.leaves_on, 1)))

    def test_results_are_those_of_the_last_attempt(self):
        self.assertEqual(ddprun.launch(functions.fails_first, nproc_per_node=2, max_restarts=1), [(0, 1), (1, 1)])

    def test_what_was_told_in_attempts_before_counts_no_more(self):
        error = self.failure_of(functions.fails_in_two_ways, max_restarts=1)
        self.assertIn("was killed by SIGKILL", str(error))
        self.assertIsNone(error.__cause__)
        error = self.failure_of(functions.answers_only_once, max_restarts=1)
        self.assertIn("rank 0 has ended without a result", str(error))

    def test_an_exception_of_the_scripts_own_class_comes_back_without_cloudpickle(self):
        script = self.folder / "script.py"
        script.write_text(textwrap.dedent("""\
            import sys
            sys.modules["cloudpickle"] = None
            import ddprun, functions
            class Mine(Exception):
                pass
            class Config:
                word = "mine"
            def f(config):
                raise Mine(config.word)
            if __name__ == "__main__":
                try:
                    ddprun.launch(f, Config())
                except ddprun.LaunchError as error:
                    print(isinstance(error.__cause__, Mine), error.__cause__, flush=True)
                print(ddprun.launch(functions.place, Config)[0][2][0] is Config)
            """))
        lines = self.run_script(script).splitlines()
        self.assertEqual((lines[0], lines[-1]), ("True mine", "True"))

    def test_what_only_jobs_of_several_nodes_have_is_refused(self):
        for options in ({"nnodes": 2}, {"hostfile": "hosts"}, {"rdzv_endpoint": "h1:1"}):
            with self.assertRaisesRegex(ValueError, "launch\\(\\) runs here, or on `hosts`"):
                ddprun.launch(functions.place, **options)

    def test_two_may_wait_for_a_job_that_a_third_stops(self):
        job = ddprun.start(functions.runs_until_it_is_stopped, self.folder, nproc_per_node=2)
        ends = []

        def wait():
            try:
                job.wait()
            except ddprun.LaunchError as error:
                ends.append(str(error))

        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.both_run()
        job.stop()
        for thread in threads:
            thread.join()
        self.assertEqual(ends, ["stopped by SIGTERM"] * 2)

    def test_nothing_stays_open_after_a_job(self):
        ddprun.launch(functions.place)
        before = (threading.active_count(), len(os.listdir("/proc/self/fd")))
        for _ in range(3):
            ddprun.launch(functions.place)
            self.failure_of(functions.fails_on, 0)
            with self.assertRaises(ValueError):
                ddprun.launch(functions.place, env={"A": "\0"})
        until(lambda: threading.active_count() <= before[0])
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before[1])

    def test_variables_and_options_reach_the_job(self):
        results = ddprun.launch(functions.variable, "MINE", nproc_per_node=1, env={"MINE": "x y"}, log_dir=self.folder,
                                no_run_record=True, start_method=None)
        self.assertEqual(results, ["x y"])
        self.assertTrue(list(self.folder.iterdir()))

    def test_an_option_that_ddprun_does_not_have_is_an_error_of_the_call(self):
        with self.assertRaisesRegex(TypeError, "ddprun has no option 'bogus': .*pass it by position$"):
            ddprun.launch(functions.place, bogus=1)
        with self.assertRaisesRegex(TypeError, "no option 'hang_timeou': did you mean 'hang_timeout'"):
            ddprun.launch(functions.place, hang_timeou=60)
        with self.assertRaisesRegex(TypeError, "no option 'nproc_per_nod': did you mean 'nproc_per_node'"):
            ddprun.launch(functions.place, nproc_per_node=2, nproc_per_nod=3)

    def test_a_value_that_ddprun_refuses_is_said(self):
        with self.assertRaisesRegex(ValueError, "ddprun has refused its options"):
            ddprun.launch(functions.place, hang_timeout="soon")
        self.assertIn("--hang-timeout", self.err.getvalue())

    def test_arguments_that_the_function_does_not_take_are_an_error_of_the_call(self):
        with self.assertRaisesRegex(TypeError, "leaves_on\\(\\) does not take these arguments: too many"):
            ddprun.launch(functions.leaves_on, 1, 2)

    def test_a_worker_that_ends_with_the_code_of_a_refused_option_is_no_refused_option(self):
        error = self.failure_of(functions.exits_with, 2, shutdown_timeout="1m")
        self.assertIn("exited with code 2", str(error))
        self.assertEqual(error.exit_code, 2)

    def test_a_large_result_arrives(self):
        self.assertEqual(len(ddprun.launch(functions.returns_much, 50_000_000)[0]), 50_000_000)

    def test_a_function_of_a_script_is_found_without_cloudpickle(self):
        script = self.folder / "script.py"
        script.write_text(textwrap.dedent("""\
            import sys
            sys.modules["cloudpickle"] = None
            import ddprun, os
            BASE = 7
            def f(add):
                return BASE + add + int(os.environ["RANK"])
            if __name__ == "__main__":
                print(ddprun.launch(f, 10, nproc_per_node=2))
                try:
                    ddprun.launch(lambda: 1)
                except TypeError as error:
                    print(error)
            """))
        done = self.run_script(script)
        self.assertIn("[17, 18]\n", done)
        self.assertIn("define the function at the top level of a module, or install cloudpickle", done)

    def test_a_worker_may_start_a_job_of_its_own(self):
        script = self.folder / "script.py"
        script.write_text(textwrap.dedent("""\
            import sys
            sys.modules["cloudpickle"] = None
            import ddprun
            def inner(add):
                return 40 + add
            def outer():
                return ddprun.launch(inner, 2)
            if __name__ == "__main__":
                print(ddprun.launch(outer, nproc_per_node=1))
            """))
        self.assertEqual(self.run_script(script), "[[42]]\n")

    def test_a_function_of_a_prompt_needs_cloudpickle(self):
        code = "import sys; sys.modules['cloudpickle'] = None\nimport ddprun\ndef f(): pass\nddprun.launch(f)"
        for words, text in ((["-c", code], ""), (["-"], code)):
            done = subprocess.run([sys.executable, *words], env={**os.environ, "PYTHONPATH": str(MODULE)}, input=text,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertIn("install cloudpickle, or define it in a module", done.stderr)

    def test_a_closure_is_sent_by_cloudpickle(self):
        base = 40
        self.assertEqual(ddprun.launch(lambda: base + 2), [42])

    def test_an_exception_in_a_closure_is_placed_in_its_file(self):
        def fails(divisor):
            return 1 / divisor

        line = fails.__code__.co_firstlineno + 1
        self.assertIn(f"ZeroDivisionError at launch_test.py:{line} in fails", str(self.failure_of(fails, 0)))

    def test_a_job_that_takes_too_long_is_stopped(self):
        with self.assertRaisesRegex(TimeoutError, "not ended within 3 s, and was stopped"):
            ddprun.launch(functions.runs_until_it_is_stopped, self.folder, nproc_per_node=2, timeout=3)
        for file in self.folder.iterdir():
            self.assertFalse(is_alive(int(file.read_text())))

    def test_a_job_is_stopped_where_its_block_ends_with_an_error(self):
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            with ddprun.start(functions.runs_until_it_is_stopped, self.folder, nproc_per_node=2):
                workers = self.both_run()
                raise ZeroDivisionError("mine")
        self.assertFalse(any(map(is_alive, workers)))

    def test_a_block_waits_for_its_job(self):
        with ddprun.start(functions.place, nproc_per_node=2) as job:
            pass
        self.assertEqual([result[0] for result in job.wait()], [0, 1])

    def test_jobs_are_awaited_side_by_side(self):
        async def both():
            return await asyncio.gather(ddprun.start(functions.place, 1), ddprun.start(functions.place, 2))

        self.assertEqual(asyncio.run(both()), [[(0, 1, (1,))], [(0, 1, (2,))]])

    def test_a_task_that_is_cancelled_stops_its_job(self):
        async def cancelled():
            task = asyncio.ensure_future(self.awaited())
            await asyncio.get_running_loop().run_in_executor(None, self.both_run)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        until(lambda: not any(map(is_alive, self.both_run())))

    async def awaited(self):
        return await ddprun.start(functions.runs_until_it_is_stopped, self.folder, nproc_per_node=2)

    def start_script(self):
        script = self.folder / "script.py"
        script.write_text("import ddprun, functions\n"
                          f"folder = {str(self.folder)!r}\n"
                          "ddprun.launch(functions.runs_until_it_is_stopped, folder, nproc_per_node=2)\n")
        path = self.paths()
        started = subprocess.Popen([sys.executable, script], env={**os.environ, "PYTHONPATH": path}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(started.kill)
        return started, self.both_run()

    @staticmethod
    def paths():
        return os.pathsep.join([str(MODULE), str(HERE / "launch")])

    def run_script(self, script):
        return subprocess.run([sys.executable, script], env={**os.environ, "PYTHONPATH": self.paths()}, text=True,
                              check=True, stdout=subprocess.PIPE, timeout=120).stdout

    def test_ctrl_c_ends_the_script_and_leaves_nothing(self):
        started, workers = self.start_script()
        os.killpg(started.pid, signal.SIGINT)  # as a terminal does
        out, _ = started.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", out)
        self.assertFalse(any(map(is_alive, workers)))

    def test_an_interrupt_of_python_alone_does_the_same(self):
        started, workers = self.start_script()
        started.send_signal(signal.SIGINT)  # as Jupyter does
        out, _ = started.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", out)
        self.assertFalse(any(map(is_alive, workers)))

    def test_nothing_is_left_of_the_job_of_a_script_that_is_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                self.ends_with_its_script(number)

    def ends_with_its_script(self, number):
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        self.enterContext(mock.patch.dict(os.environ, {"TMPDIR": str(temporary)}))
        started, workers = self.start_script()
        started.send_signal(number)
        until(lambda: not any(map(is_alive, workers)))
        self.assertEqual(started.communicate(timeout=60)[1], None)
        until(lambda: not list(temporary.iterdir()))
        for file in self.folder.glob("runs_*"):
            file.unlink()

    def test_it_runs_in_a_test_of_pytest(self):
        test = self.folder / "test_it.py"
        test.write_text(textwrap.dedent("""\
            import os, ddprun, pytest
            def rank():
                print("in a test")
                return int(os.environ["RANK"])
            def fails():
                raise ValueError("as planned")
            def test_ranks(capsys):
                assert ddprun.launch(rank, nproc_per_node=2) == [0, 1]
                assert capsys.readouterr().out.count("in a test") == 2
            def test_failure():
                with pytest.raises(ddprun.LaunchError, match="ValueError at test_it.py:6 in fails: as planned"):
                    ddprun.launch(fails)
            """))
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
                              env={**os.environ, "PYTHONPATH": str(MODULE)}, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        self.assertIn("2 passed", done.stdout)


if __name__ == "__main__":
    unittest.main()
