"""Which PyTorch scripts/build and scripts/demo take: environments with a PyTorch that consists of its version."""

import os
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
ASKS = """. scripts/lib.sh
use_active_torch
echo "torch $DDPRUN_TORCH_ENV"
echo "python $(torch_python)"
decide_sdk FOUND
echo "sdk $sdk"
"""


def make_torch(packages, version="2.11.1", libtorch=True):
    """A folder `torch` in that one."""
    torch = Path(packages) / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "__init__.py").write_text("raise RuntimeError('nobody is to import it: that takes seconds')\n")
    (torch / "version.py").write_text(f"__version__ = '{version}'\n")
    if libtorch:
        (torch / "lib" / "libtorch.so").touch()
    return torch


def make_environment(folder, **torch):
    """(environment, its PyTorch)"""
    venv.create(folder, symlinks=True)
    packages = next(Path(folder).glob("lib/python3*/site-packages"))
    return Path(folder), make_torch(packages, **torch)


class ActiveTorchTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        # A Python without PyTorch, whatever the one of this machine has.
        venv.create(self.scratch / "bare", symlinks=True)

    def answers(self, path=(), **variables):
        """What the scripts decide: {"torch": ..., "python": ..., "sdk": ...}, and what they say in "said"."""
        folders = [*path, self.scratch / "bare" / "bin", *os.environ["PATH"].split(":")]
        environment = {"PATH": ":".join(map(str, folders)), "DDPRUN_CACHE": str(self.scratch / "cache"),
                       "HOME": str(self.scratch), **{name: str(value) for name, value in variables.items()}}
        done = subprocess.run(["bash", "-c", ASKS], cwd=PROJECT, env=environment, check=True,
                              stdout=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()
        return {**dict(line.split(" ", 1) for line in lines[-3:]), "said": "\n".join(lines[:-3])}

    def test_without_one_it_is_the_cache_s_own(self):
        found = self.answers()
        self.assertEqual((Path(found["torch"]).parent, found["sdk"], found["said"]),
                         (self.scratch / "cache", "OFF", ""))

    def test_that_of_the_active_environment_is_taken_and_named(self):
        environment, torch = make_environment(self.scratch / "mine")
        found = self.answers(VIRTUAL_ENV=environment)
        self.assertEqual((found["torch"], found["python"], found["sdk"]),
                         (str(torch), str(environment / "bin" / "python3"), "ON"))
        self.assertIn("PyTorch 2.11.1", found["said"])

    def test_of_two_active_environments_that_on_top_is_taken(self):
        below, _ = make_environment(self.scratch / "below", version="2.8.0")
        above, torch = make_environment(self.scratch / "above")
        found = self.answers([above / "bin", below / "bin"], VIRTUAL_ENV=below, CONDA_PREFIX=above)
        self.assertEqual(found["torch"], str(torch))

    def test_one_beside_the_python_of_PATH_is_taken(self):
        # As images and `module load` have it: no environment is active.
        torch = make_torch(self.scratch / "dist-packages")
        found = self.answers(PYTHONPATH=self.scratch / "dist-packages")
        self.assertEqual((found["torch"], found["python"], found["sdk"]),
                         (str(torch), str(self.scratch / "bare" / "bin" / "python3"), "ON"))

    def test_the_python_that_PYTHON_EXEC_names_comes_first(self):
        _, torch = make_environment(self.scratch / "named")
        other, _ = make_environment(self.scratch / "other")
        found = self.answers(PYTHON_EXEC=self.scratch / "named" / "bin" / "python", VIRTUAL_ENV=other)
        self.assertEqual(found["torch"], str(torch))

    def test_one_that_is_too_old_is_passed_over(self):
        old, _ = make_environment(self.scratch / "old", version="2.3.1")
        self.assertEqual(self.answers(VIRTUAL_ENV=old)["said"], "")

    def test_one_that_the_SDK_does_not_compile_with_is_taken_for_workers_alone(self):
        old, torch = make_environment(self.scratch / "old", version="2.10.0")
        found = self.answers(VIRTUAL_ENV=old)
        self.assertEqual((found["torch"], found["sdk"]), (str(torch), "OFF"))
        self.assertEqual(self.answers(DDPRUN_TORCH_ENV=old)["sdk"], "OFF")
        found = self.answers(VIRTUAL_ENV=old, DDPRUN_SDK="ON")
        self.assertEqual(Path(found["torch"]).parent, self.scratch / "cache")

    def test_a_folder_of_that_name_in_the_current_one_is_none(self):
        make_torch(self.scratch / "work")
        done = subprocess.run(["bash", "-c", f"cd {self.scratch}/work; . {PROJECT}/scripts/lib.sh; use_active_torch"],
                              env={"PATH": f"{self.scratch}/bare/bin:{os.environ['PATH']}", "HOME": str(self.scratch)},
                              check=True, stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.stdout, "")

    def test_without_LibTorch_where_a_wheel_has_it_the_SDK_is_left_out(self):
        environment, torch = make_environment(self.scratch / "conda", libtorch=False)
        found = self.answers(CONDA_PREFIX=environment)
        self.assertEqual((found["torch"], found["sdk"]), (str(torch), "OFF"))

    def test_an_environment_that_DDPRUN_TORCH_ENV_names_is_taken_as_it_is(self):
        mine, _ = make_environment(self.scratch / "mine")
        active, _ = make_environment(self.scratch / "active")
        found = self.answers(DDPRUN_TORCH_ENV=mine, VIRTUAL_ENV=active)
        self.assertEqual((found["torch"], found["python"], found["sdk"]),
                         (str(mine), str(mine / "bin" / "python"), "ON"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
