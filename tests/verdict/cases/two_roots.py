# Two ranks fail at the same time, each for a reason of its own: both are named. ddprun is suspended
# until both have ended, so that it can stop neither of them before.
# kind: exit_code
# both: 0,2
import os
import pathlib
import signal
import time

import meet


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"
    except OSError:
        return True


meet.everybody_is_there()
ddprun = os.getppid()
if meet.RANK == 0:
    os.kill(ddprun, signal.SIGSTOP)
    meet.tell("suspended")
    me = os.getpid()
    if os.fork() == 0:
        while not has_ended(me):
            time.sleep(0.005)
        os.kill(ddprun, signal.SIGCONT)
        os._exit(0)
    meet.wait_for("ended")
    os._exit(3)
if meet.RANK == 2:
    meet.wait_for("suspended")
    meet.tell("ended")
    os._exit(4)
meet.sleep_for_ever()
