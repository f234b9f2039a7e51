"""Submits a job of ddprun with submitit, here for two nodes of eight GPUs:

    python with_submitit.py --nproc-per-node gpu --max-restarts 3 train.py

submitit starts one task on each node, and ddprun takes nodes and ranks from Slurm. Before the time is over, or when the
job is preempted, the workers write a checkpoint, and the job is queued again.
"""
import os
import secrets
import sys
import time
from pathlib import Path

import submitit

ENDED_FOR_THE_SCHEDULER = 85  # ddprun's exit code after a checkpoint that it was asked for
CHECKPOINT_SECONDS = 120


class Ddprun:
    """What submitit calls on each node, with a command line of ddprun. submitit's signal announces the end."""

    def __init__(self, folder, *words):
        self.words = words
        self.secret = Path(folder, f"secret-{secrets.token_hex(8)}").resolve()  # on a disk that the nodes share
        self.secret.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(self.secret, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))

    def __call__(self):
        announced = f"SIG{submitit.JobEnvironment().USR_SIG},SIGTERM"
        command = ["ddprun", "--preempt-signal", announced, "--secret-file", str(self.secret), *self.words]
        self.process = os.posix_spawnp(command[0], command, os.environ)
        end = self.end()
        if end.si_status == ENDED_FOR_THE_SCHEDULER and submitit.JobEnvironment().global_rank > 0:
            time.sleep(CHECKPOINT_SECONDS)  # the first task queues the job again, which ends this one
        self.check(end, 0)

    def end(self, *options):
        """How ddprun has ended. It stays waitable, because checkpoint() interrupts a wait, and asks for the same."""
        return os.waitid(os.P_PID, self.process, sum(options, os.WEXITED | os.WNOWAIT))

    @staticmethod
    def check(end, code):
        if end is None or (end.si_code, end.si_status) != (os.CLD_EXITED, code):
            raise RuntimeError(f"ddprun ended with {end.si_status}" if end else "ddprun has not ended in time")

    def checkpoint(self):
        """submitit calls it in the first task at its signal. That went to ddprun, too, or goes now."""
        os.kill(self.process, submitit.JobEnvironment()._usr_sig())
        latest = time.monotonic() + CHECKPOINT_SECONDS
        while (end := self.end(os.WNOHANG)) is None and time.monotonic() < latest:
            time.sleep(0.5)
        self.check(end, ENDED_FOR_THE_SCHEDULER)
        return submitit.helpers.DelayedSubmission(self)


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="submitit", slurm_max_num_timeout=20)
    executor.update_parameters(nodes=2, tasks_per_node=1, gpus_per_node=8, cpus_per_task=32, timeout_min=24 * 60,
                               slurm_signal_delay_s=CHECKPOINT_SECONDS)
    print("submitted", executor.submit(Ddprun("submitit", *sys.argv[1:])).job_id)
