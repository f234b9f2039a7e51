# Somebody kills a rank from outside.
# kind: signal
# ranks: 2
# signal: SIGKILL
# hint: killed it
# stopped: 0,1
import os
import signal

import meet

meet.everybody_is_there()
if meet.RANK == 2:
    os.kill(os.getpid(), signal.SIGKILL)
meet.sleep_for_ever()
