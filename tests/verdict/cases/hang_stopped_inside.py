# One rank is stopped by a signal inside of the collective for which the others wait.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 2
# waiting: 0,1
# operation: gloo:all_reduce
import os
import pathlib
import signal
import time

import torch
import torch.distributed as dist

import meet

STOPPED = pathlib.Path(os.environ["CASE_DIR"]) / "pid_of_rank_2"

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 2:
    inside = dist.all_reduce(torch.ones(3), async_op=True)
    time.sleep(1)  # long enough to be seen in there, as a rank that waits
    STOPPED.with_suffix(".part").write_text(str(os.getpid()))
    STOPPED.with_suffix(".part").rename(STOPPED)
    os.kill(os.getpid(), signal.SIGSTOP)
while not STOPPED.exists():
    time.sleep(0.01)
while ") T " not in pathlib.Path(f"/proc/{STOPPED.read_text()}/stat").read_text():
    time.sleep(0.01)
dist.all_reduce(torch.ones(3))
