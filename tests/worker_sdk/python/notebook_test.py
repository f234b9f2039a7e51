#!/usr/bin/env python3
"""Jobs that cells of a notebook start, in a real kernel, by the real ddprun: notebook_test.py DDPRUN"""

import os
import queue
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULE = HERE.parents[2] / "worker_sdk" / "python"
DDPRUN = str(Path(sys.argv.pop(1)).resolve())
SECONDS = 120  # for a cell

try:
    import ipykernel  # noqa: F401
    from jupyter_client.manager import start_new_kernel
except ImportError:
    start_new_kernel = None


class Cell:
    """What a cell has shown."""

    def __init__(self, reply, messages):
        contents = [(message["msg_type"], message["content"]) for message in messages]
        self.out, self.err = ("".join(said["text"] for kind, said in contents if kind == "stream" and
                                      said["name"] == name) for name in ("stdout", "stderr"))
        self.values = [said["data"]["text/plain"] for kind, said in contents if kind == "execute_result"]
        self.error = f'{reply["ename"]}: {reply["evalue"]}' if reply["status"] == "error" else ""


@unittest.skipUnless(start_new_kernel, "this Python has no ipykernel")
class NotebookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        environment = {**os.environ, "PYTHONPATH": str(MODULE), "IPYTHONDIR": folder.name, "TMPDIR": folder.name,
                       "PATH": os.path.dirname(DDPRUN) + os.pathsep + os.environ["PATH"]}
        cls.folder = Path(folder.name)
        cls.kernel, cls.client = start_new_kernel(kernel_name="python3", env=environment)
        cls.addClassCleanup(cls.kernel.shutdown_kernel, now=True)
        cls.addClassCleanup(cls.client.stop_channels)
        assert not cls.shown("import os, ddprun\n%load_ext ddprun").error

    @classmethod
    def shown(cls, code):
        messages = []
        reply = cls.client.execute_interactive(code, timeout=SECONDS, output_hook=messages.append)
        return Cell(reply["content"], messages)

    def tearDown(self):
        self.assertEqual(list(self.folder.glob("ddprun_*")), [])

    def test_launch_calls_a_function_of_a_cell(self):
        self.shown("def f(x):\n    print('in a cell')\n    return x + int(os.environ['RANK'])")
        cell = self.shown("ddprun.launch(f, 5, nproc_per_node=2)")
        self.assertEqual(cell.out.count("in a cell\n"), 2)
        self.assertEqual(cell.values, ["[5, 6]"])

    def test_the_magic_runs_the_cell_as_a_program_on_each_rank(self):
        self.shown("number = 2")
        cell = self.shown("%%ddprun --nproc-per-node {number} --max-restarts=1\n"
                          "import os, sys\n"
                          "if __name__ == '__main__':\n"
                          "    print('rank', os.environ['RANK'], os.getcwd(), 'number' in globals())\n"
                          "    sys.exit(0)\n")
        self.assertEqual(cell.error, "")
        self.assertEqual(sorted(cell.out.splitlines()), [f"rank {rank} {os.getcwd()} False" for rank in (0, 1)])

    def test_processes_of_a_worker_find_what_the_cell_defines(self):
        cell = self.shown("%%ddprun\n"
                          "import multiprocessing\n"
                          "def double(x):\n"
                          "    return 2 * x\n"
                          "if __name__ == '__main__':\n"
                          "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
                          "        print(pool.map(double, [3]))\n")
        self.assertEqual((cell.error, cell.out), ("", "[6]\n"))

    def test_a_failure_is_raised_with_its_line_in_the_cell(self):
        cell = self.shown("%%ddprun --nproc-per-node 2\n\nclass Mine(Exception): pass\nraise Mine('no luck')")
        self.assertRegex(cell.error, r"LaunchError: ranks? .* raised Mine at cell.py:4: no luck")
        uncolored = re.sub(r"\x1b\[[0-9;]*m", "", cell.err)  # Python 3.13 colors it
        self.assertIn("Mine: no luck\n", uncolored)

    def test_a_cell_that_cannot_run_starts_nothing(self):
        for code, error in (("%%ddprun\nprint(", "SyntaxError: '(' was never closed (cell.py, line 2)"),
                            ("%%ddprun --such\n1", "ValueError: ddprun has refused its options: its message says why"),
                            ("%%ddprun --hosts=a\n1", "UsageError: a cell runs on this machine: "
                             "ddprun.launch(function, hosts=...) runs a job on others")):
            with self.subTest(code):
                self.assertEqual(self.shown(code).error, error)

    def test_a_dry_run_is_no_failure(self):
        cell = self.shown("%%ddprun --dry-run\nprint('ran')")
        self.assertEqual(cell.error, "")
        self.assertIn("WORLD_SIZE=1", cell.out)
        self.assertIn("no worker has run this cell", cell.err)

    def test_a_progress_bar_shows_and_an_interrupt_stops_the_workers(self):
        self.client.execute("%%ddprun --nproc-per-node 2\n"
                            "import os, time\n"
                            "print(f'\\r<{os.getpid()}>', end='', flush=True)\n"
                            "time.sleep(600)")
        text, deadline = "", time.monotonic() + SECONDS
        while len(workers := re.findall(r"<(\d+)>", text)) < 2:
            message = self.client.get_iopub_msg(timeout=max(0.1, deadline - time.monotonic()))
            text += message["content"].get("text", "")
        self.kernel.interrupt_kernel()
        self.assertEqual(self.end_of_cell()["ename"], "KeyboardInterrupt")
        for worker in workers:
            self.assertFalse(os.path.exists(f"/proc/{worker}"))

    def end_of_cell(self):
        """Also takes what the cell still shows, which the next one must not see."""
        reply = self.client.get_shell_msg(timeout=SECONDS)
        try:
            while self.client.get_iopub_msg(timeout=1)["content"].get("execution_state") != "idle":
                pass
        except queue.Empty:
            pass
        return reply["content"]


if __name__ == "__main__":
    unittest.main()
