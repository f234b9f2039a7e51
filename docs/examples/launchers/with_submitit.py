"""Submits a job of ddprun with submitit, here for two nodes of eight GPUs:

    python with_submitit.py --nproc-per-node gpu --max-restarts 3 train.py

submitit starts one task on each node, and ddprun takes nodes and ranks from Slurm. Before the time is over, or when the
job is preempted, the workers write a checkpoint, and the job is queued again.
"""

import os
import secrets
import signal
import sys
import time
from pathlib import Path

# Slurm sends it to the workers, too: this one means a checkpoint to them, and SIGUSR2, the default, would kill them.
os.environ["SUBMITIT_PREEMPT_SIGNAL"] = "USR1"
import submitit  # noqa: E402

ENDED_FOR_THE_SCHEDULER, CHECKPOINT_SECONDS = 85, 120  # the exit code of ddprun after a checkpoint; time for it


class Ddprun:  # a call on each node by submitit, with a command line of ddprun
    def __init__(self, folder, *words):
        os.makedirs(folder, exist_ok=True)  # on a disk that the nodes share
        self.words, self.secret = words, Path(folder, f"secret-{secrets.token_hex(8)}").resolve()
        with open(os.open(self.secret, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))

    def __call__(self):
        command = ["ddprun", "--preempt-signal", "SIGUSR1,SIGTERM", "--secret-file", str(self.secret), *self.words]
        self.process = os.posix_spawnp(command[0], command, os.environ)
        if (end := self.end()).si_status == ENDED_FOR_THE_SCHEDULER and submitit.JobEnvironment().global_rank > 0:
            time.sleep(CHECKPOINT_SECONDS)  # the first task queues the job again, which ends this one
        self.check(end, 0)

    def end(self, *options):
        """How ddprun has ended. It stays waitable, because checkpoint() interrupts a wait, and asks for the same."""
        return os.waitid(os.P_PID, self.process, sum(options, os.WEXITED | os.WNOWAIT))

    @staticmethod
    def check(end, code):
        if not end or (end.si_code, end.si_status) != (os.CLD_EXITED, code):
            raise RuntimeError(f"ddprun ended with {end.si_status}" if end else "ddprun has not ended in time")

    def checkpoint(self):
        """submitit calls it in the first task at its signal. That went to ddprun, too, or goes now."""
        os.kill(self.process, signal.SIGUSR1)
        for _ in range(CHECKPOINT_SECONDS):
            time.sleep(0 if self.end(os.WNOHANG) else 1)
        self.check(self.end(os.WNOHANG), ENDED_FOR_THE_SCHEDULER)
        return submitit.helpers.DelayedSubmission(self)


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="submitit", slurm_max_num_timeout=20)
    size = {"nodes": 2, "tasks_per_node": 1, "gpus_per_node": 8, "cpus_per_task": 32}
    executor.update_parameters(**size, timeout_min=24 * 60, slurm_signal_delay_s=CHECKPOINT_SECONDS)
    print("submitted", executor.submit(Ddprun("submitit", *sys.argv[1:])).job_id)
