#!/usr/bin/env python3
"""The examples that are in no page: the table lists them, and their command lines are valid: examples_test.py DDPRUN"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from markdown import PROJECT
from packages import run_again_or_skip

try:
    import yaml
except ImportError as lacking:
    run_again_or_skip(lacking)

sys.path.insert(0, str(PROJECT / "packaging"))
import wheel  # noqa: E402

EXAMPLES = PROJECT / "docs" / "examples"
# As the two set them on the second of two nodes. No host has such an address.
SKYPILOT = {"SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_RANK": "1", "SKYPILOT_NODE_IPS": "192.0.2.1\n192.0.2.2",
            "SKYPILOT_NUM_GPUS_PER_NODE": "4", "SKYPILOT_TASK_ID": "sky-2026_train_1-0"}
DSTACK = {"DSTACK_NODES_NUM": "2", "DSTACK_NODE_RANK": "1", "DSTACK_MASTER_NODE_IP": "192.0.2.1",
          "DSTACK_GPUS_PER_NODE": "4", "DSTACK_RUN_NAME": "train"}


def dry_run(script, variables):
    """What the script's ddprun would do."""
    with tempfile.TemporaryDirectory() as folder:
        stand_in = Path(folder, "ddprun")
        stand_in.write_text(f'#!/bin/sh\nexec "{DDPRUN}" --dry-run "$@"\n')
        stand_in.chmod(0o755)
        Path(folder, "train.py").touch()
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
        return subprocess.run(["bash", "-c", script], env=environment, cwd=folder, capture_output=True, text=True,
                              timeout=60, check=False)


class ExamplesTest(unittest.TestCase):
    def test_the_table_lists_every_file_of_the_folders(self):
        listed = re.findall(r"`([\w-]+/[\w.-]+)`", (PROJECT / "docs" / "examples.md").read_text())
        there = [path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("*/*") if path.is_file()]
        self.assertEqual(sorted(set(listed) - {"docs/examples"}), sorted(there))

    def test_the_wheel_has_every_file(self):
        packed = {name for name, _, _ in wheel.module()}
        there = {f"ddprun/examples/{path.relative_to(EXAMPLES).as_posix()}" for path in EXAMPLES.glob("**/*.*")
                 if path.is_file() and path.suffix != ".pyc"}
        self.assertTrue(there)
        self.assertLessEqual(there, packed)

    def test_the_nodes_of_a_cloud_meet_at_the_first_one(self):
        sky = yaml.safe_load((EXAMPLES / "clouds" / "skypilot.yaml").read_text())["run"]
        dstack = yaml.safe_load((EXAMPLES / "clouds" / "dstack.dstack.yml").read_text())["commands"][-1]
        for script, variables, name in ((sky, SKYPILOT, SKYPILOT["SKYPILOT_TASK_ID"]), (dstack, DSTACK, "train")):
            done = dry_run(script, variables)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("has no effect", done.stderr)
            for variable in (f"TORCHELASTIC_RUN_ID={name}", "MASTER_ADDR=192.0.2.1", "LOCAL_WORLD_SIZE=4"):
                self.assertIn(variable, done.stdout)


if __name__ == "__main__":
    DDPRUN = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
