"""The batch scripts of scripts/slurm, with stand-ins for ddprun and scontrol."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = sorted((Path(__file__).resolve().parent.parent.parent / "scripts/slurm").glob("*.sbatch"))
REQUEUED = ["cpp-sdk.sbatch", "elastic.sbatch"]


def run(script, code, restarts):
    """Returns the exit code, the command line of ddprun, and whether the job is queued again."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("ddprun", f'echo "$@" >{folder}/words; exit {code}'), ("scontrol", f'echo "$@" >{folder}/queued'),
                           ("srun", 'exec "$@"')):
            stand_in = Path(folder, name)
            stand_in.write_text(f"#!/bin/sh\n{text}\n")
            stand_in.chmod(0o755)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "12"}
        if restarts is not None:
            environment["SLURM_RESTART_COUNT"] = str(restarts)
        ended = subprocess.run(["bash", script, "train.py", "--epochs", "3"], env=environment, timeout=60, check=False)
        queued = Path(folder, "queued")
        return ended.returncode, Path(folder, "words").read_text().split(), queued.exists() and queued.read_text()


class BatchScripts(unittest.TestCase):
    def test_each_asks_for_cpus_and_a_time_and_counts_the_gpus_that_it_gets(self):
        for script in SCRIPTS:
            with self.subTest(script.name):
                text = script.read_text()
                for option in ("--cpus-per-task=", "--time=", "--gpus-per-node=", "--ntasks-per-node=1"):
                    self.assertIn(f"\n#SBATCH {option}", text)
                words = run(script, 0, None)[1]
                self.assertIn("--nproc-per-node gpu", " ".join(words))
                self.assertIn("--log-dir", words)
                self.assertEqual(words[-3:], ["train.py", "--epochs", "3"])

    def test_none_starts_its_nodes_without_a_secret(self):
        for script in SCRIPTS:
            commands = [line for line in script.read_text().splitlines() if not line.startswith("#")]
            self.assertFalse([line for line in commands if "srun" in line], script.name)

    def test_the_exit_code_is_that_of_ddprun(self):
        for script in SCRIPTS:
            for code in (0, 1, 85):
                self.assertEqual(run(script, code, None)[0], code, script.name)

    def test_a_preempted_job_is_queued_again_and_not_for_ever(self):
        for script in SCRIPTS:
            again = "requeue 12\n" if script.name in REQUEUED else False
            for restarts in (None, 0, 19):
                self.assertEqual(run(script, 85, restarts)[2], again, script.name)
            self.assertFalse(run(script, 85, 20)[2], script.name)
            self.assertFalse(run(script, 1, 0)[2], script.name)


if __name__ == "__main__":
    unittest.main()
