#!/usr/bin/env python3
"""Tools that start torchrun, beside themselves under ddprun-wrap: wrap_test.py DDPRUN [unittest's arguments]"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

MODULE = Path(__file__).resolve().parents[3] / "worker_sdk" / "python"
DDPRUN = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(MODULE))

from ddprun import _wrap  # noqa: E402

PROGRAM = textwrap.dedent("""\
    import os, sys
    launcher = "ddprun" if "DDPRUN_ROUND" in os.environ else "torchrun"
    paths = os.environ.get("PYTHONPATH", "") + os.environ["PATH"]
    wrapped = "_wrapped" in paths or "DDPRUN_WRAP_PROGRAM" in os.environ
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT")
    place = ", ".join(os.environ[name] for name in names)
    sys.stdout.write(f"rank {place}: {sys.argv[1:]} by {launcher}, wrapped: {wrapped}\\n")
    if "--fail" in sys.argv and os.environ["RANK"] == "1":
        raise ValueError("bad shard")
    """)


class WrapTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "program.py"
        self.program.write_text(PROGRAM)

    @staticmethod
    def environment(**variables):
        # The system's Python comes first: tools have to be found in spite of that, and workers not by it.
        paths = [str(DDPRUN.parent), "/usr/bin", os.path.dirname(sys.executable), os.environ["PATH"]]
        path = os.pathsep.join(paths)
        return {**os.environ, "PYTHONPATH": str(MODULE), "PATH": path, "OMP_NUM_THREADS": "1", **variables}

    def run_tool(self, *words, wrapped=True, **variables):
        wrap = [sys.executable, "-m", "ddprun._wrap"] if wrapped else []
        return subprocess.run([*wrap, *words], env=self.environment(**variables), cwd=self.folder, text=True,
                              timeout=240, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def start_tool(self, *words):
        tool = subprocess.Popen([sys.executable, "-m", "ddprun._wrap", *words], env=self.environment(),
                                cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(tool.stdout.close)
        self.addCleanup(tool.wait)
        self.addCleanup(tool.kill)
        return tool

    def lines_of(self, *words, wrapped=True, **variables):
        """What the ranks have said, in the order of their ranks."""
        done = self.run_tool(*words, wrapped=wrapped, **variables)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))

    def test_each_way_to_torchrun_leads_to_ddprun(self):
        (self.folder / "tool.py").write_text(
            "import torch.distributed.run\n"
            f"torch.distributed.run.main(['--nproc-per-node=2', {str(self.program)!r}, 'x'])\n")
        ways = [["torchrun"], ["sh", "-c", 'torchrun "$@"', "sh"], [sys.executable, "-m", "torch.distributed.run"]]
        words = ["--nproc-per-node", "2", str(self.program), "x"]
        expected = [f"rank {rank}, 2, {rank}, 0: ['x'] by ddprun, wrapped: False" for rank in (0, 1)]
        for way in ways:
            with self.subTest(way=way):
                self.assertEqual(self.lines_of(*way, *words), expected)
        self.assertEqual(self.lines_of(sys.executable, "tool.py"), expected)
        old = [sys.executable, "-m", "torch.distributed.launch"]
        with_rank = [line.replace("['x']", f"['--local-rank={rank}', 'x']") for rank, line in enumerate(expected)]
        self.assertEqual(self.lines_of(*old, *words), with_rank)
        self.assertEqual(self.lines_of(*old, "--use-env", *words), expected)

    def test_the_job_ends_with_a_tool_that_is_killed(self):
        self.program.write_text("import os, time\nprint('worker', os.getpid(), flush=True)\ntime.sleep(600)\n")
        (self.folder / "tool.py").write_text(
            "import torch.distributed.run\n"
            f"torch.distributed.run.main(['--nproc-per-node=1', {str(self.program)!r}])\n")
        tool = self.start_tool(sys.executable, "tool.py")
        line = next(line for line in tool.stdout if line.startswith("worker "))
        tool.kill()
        worker = Path("/proc") / line.split()[1]
        deadline = time.monotonic() + 60
        while worker.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertFalse(worker.exists())

    def test_workers_are_run_by_the_python_that_would_have_run_torchrun(self):
        self.program.write_text("import os, sys\nprint('rank', os.environ['RANK'], sys.prefix)\n")
        for way in [["torchrun"], [sys.executable, "-m", "torch.distributed.run"]]:
            done = self.run_tool(*way, "--nproc-per-node=1", str(self.program))
            self.assertEqual(done.stdout, f"rank 0 {sys.prefix}\n", done.stderr)

    def test_a_tool_alone_and_wrapped_does_the_same(self):
        accelerate = ["accelerate", "launch", "--multi_gpu", "--num_processes=2", "--num_machines=1",
                      "--mixed_precision=no", "--dynamo_backend=no"]
        fabric = [sys.executable, "-m", "lightning_fabric.cli", "--accelerator=cpu", "--devices=2"]
        tools = {"accelerate": accelerate}
        has_fabric = [sys.executable, "-c", "import click, lightning_fabric.cli"]
        if subprocess.run(has_fabric, stderr=subprocess.DEVNULL).returncode == 0:
            tools["fabric"] = fabric
        for name, tool in tools.items():
            with self.subTest(tool=name):
                words = [*tool, str(self.program), "--lr", "0.1"]
                alone = self.lines_of(*words, wrapped=False, ACCELERATE_USE_CPU="true")
                wrapped = self.lines_of(*words, ACCELERATE_USE_CPU="true")
                self.assertEqual(len(alone), 2)
                self.assertEqual(wrapped, [line.replace("torchrun", "ddprun") for line in alone])

    def test_accelerates_own_test_passes_the_same_checks(self):
        (self.folder / "two_ranks.yaml").write_text(
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: 'no'\n"
            "num_machines: 1\nnum_processes: 2\nuse_cpu: true\n")
        checks = []
        for wrapped in (False, True):
            done = self.run_tool("accelerate", "test", "--config_file", "two_ranks.yaml", wrapped=wrapped,
                                 ACCELERATE_USE_CPU="true", LOGLEVEL="INFO")
            self.assertIn("Test is a success!", done.stdout, done.stderr)
            said = done.stdout + done.stderr
            self.assertEqual("ddprun: round 1: ranks 0 to 1 of 2 on this node" in said, wrapped)
            # torchrun may write two ranks' lines into one.
            checks.append(set(re.findall(r"\*\*[^*]+\*\*", done.stdout)))
        self.assertGreater(len(checks[0]), 10)
        self.assertEqual(*checks)

    def test_the_exit_code_and_the_report_of_a_failing_rank_are_ddpruns(self):
        done = self.run_tool("accelerate", "launch", "--multi_gpu", "--num_processes=2", "--num_machines=1",
                             "--mixed_precision=no", "--dynamo_backend=no", str(self.program), "--fail",
                             ACCELERATE_USE_CPU="true")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr,
                         r"ddprun: the job failed: rank 1 on \S+ raised ValueError at program.py:\d+: bad shard")

    def test_variables_give_options_that_the_tool_does_not_know(self):
        done = self.run_tool("torchrun", "--nproc-per-node=2", str(self.program), "--fail", PET_MAX_RESTARTS="1")
        self.assertIn("restart 1 of 1", done.stderr)

    def test_arguments_of_torchrun_survive_their_way_back(self):
        from torch.distributed.run import get_args_parser

        lines = [["p.py"], ["--nnodes=2:4", "--nproc-per-node=gpu", "p.py", "--lr", "0.1"],
                 ["--standalone", "--max-restarts=3", "-m", "module", "-x"], ["--no-python", "sh", "-c", "a b"],
                 ["--rdzv-conf=timeout=5,x=1", "--rdzv-backend=c10d", "--rdzv-endpoint=h:1", "-t", "3", "p.py"],
                 ["--node-rank=1", "--master-addr=h", "--master-port=29501", "-r", "0:3,1:2", "p.py"]]
        for line in lines:
            with self.subTest(line=line):
                parsed = get_args_parser().parse_args(line)
                again = get_args_parser().parse_args(_wrap.torchrun_words(parsed, get_args_parser()))
                self.assertEqual(vars(again), vars(parsed))

    def test_a_sitecustomize_of_the_user_is_imported_as_before(self):
        (self.folder / "sitecustomize.py").write_text("print('mine')")
        paths = os.pathsep.join([str(MODULE), str(self.folder)])
        done = self.run_tool(sys.executable, "-c", "print('tool')", PYTHONPATH=paths)
        self.assertEqual(done.stdout.splitlines()[-2:], ["mine", "tool"])

    def test_what_is_no_tool_gets_a_sentence(self):
        done = self.run_tool("no-such-tool")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ddprun-wrap: no-such-tool: ", done.stderr)
        self.assertIn("Usage: ddprun-wrap TOOL", self.run_tool("--help").stdout)
        self.assertEqual(self.run_tool().returncode, 2)


if __name__ == "__main__":
    unittest.main()
