# A rank has done its work, and what it does at its exit fails and ends it with code 1.
# kind: exception
# ranks: 1
# type: FileNotFoundError
# exit_code: 1
# stopped: 0,2
import atexit
import os
import traceback

import meet


def upload():
    try:
        open("/nowhere/metrics.json").read()  # HERE
    except OSError:
        traceback.print_exc()
        os._exit(1)


meet.everybody_is_there()
if meet.RANK == 1:
    atexit.register(upload)
else:
    meet.sleep_for_ever()
