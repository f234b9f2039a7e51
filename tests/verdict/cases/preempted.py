# The scheduler announces the end.
# outcome: preempted
# ddprun_exit: 85
# arguments: --preempt-signal SIGUSR2 --preempt-timeout 1
import os
import signal
import sys

import meet

signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
meet.everybody_is_there()
if meet.RANK == 1:
    os.kill(os.getppid(), signal.SIGUSR2)
meet.sleep_for_ever()
