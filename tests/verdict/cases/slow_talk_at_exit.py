# After the traceback, a tracker that runs at the exit writes twenty lines more, for four seconds.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
# stopped: 0,2
import atexit
import sys
import time

import meet


def upload():
    for part in range(20):
        print(f"tracker: part {part} of 20 is uploaded", file=sys.stderr)
        time.sleep(0.2)


atexit.register(upload)
meet.everybody_is_there()
if meet.RANK == 1:
    {}["x"]  # HERE
meet.sleep_for_ever()
