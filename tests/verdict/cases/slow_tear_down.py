# The cause needs long to end after its traceback, and its peers end sooner, with longer tracebacks.
# kind: exception
# ranks: 1
# type: IndexError
# exit_code: 1
# followers: 0,2
import atexit
import time

import meet


def deeper(depth):
    if depth:
        deeper(depth - 1)
    raise ConnectionResetError(104, "Connection reset by peer")


meet.everybody_is_there()
if meet.RANK == 1:

    def last():
        meet.tell("traceback")
        time.sleep(2)

    atexit.register(last)
    [][1]  # HERE
meet.wait_for("traceback")
deeper(20)
