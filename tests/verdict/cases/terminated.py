# Somebody else, and not ddprun, ends one rank with SIGTERM.
# kind: signal
# ranks: 1
# signal: SIGTERM
# ddprun_exit: 143
import os
import signal

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    os.kill(os.getpid(), signal.SIGTERM)
meet.sleep_for_ever()
