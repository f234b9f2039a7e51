# Python itself gives up. faulthandler names the line.
# kind: signal
# ranks: 1
# signal: SIGABRT
import faulthandler
import os

import meet

faulthandler.enable()
meet.everybody_is_there()
if meet.RANK == 1:
    os.abort()  # HERE
meet.sleep_for_ever()
