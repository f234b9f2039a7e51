# After the traceback, what runs at the exit writes twenty lines more.
# kind: exception
# ranks: 1
# type: KeyError
import atexit
import sys

import meet


def farewell():
    for step in range(20):
        print(f"tracker: history of metric {step} is at https://nowhere/{step}", file=sys.stderr)


atexit.register(farewell)
meet.everybody_is_there()
if meet.RANK == 1:
    {}["x"]  # HERE
meet.sleep_for_ever()
