# What runs at the exit fails as well: the exception before it is the cause.
# kind: exception
# ranks: 1
# type: ValueError
# message: first
import atexit

import meet


def clean_up():
    raise KeyError("second")


atexit.register(clean_up)
meet.everybody_is_there()
if meet.RANK == 1:
    raise ValueError("first")  # HERE
meet.sleep_for_ever()
