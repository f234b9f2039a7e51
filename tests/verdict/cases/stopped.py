# Somebody stops ddprun: that is no failure.
# outcome: stopped
# ddprun_exit: 130
import os
import signal

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    os.kill(os.getppid(), signal.SIGINT)
meet.sleep_for_ever()
