# The others raise an exception when ddprun stops them, and exit with tracebacks of their own.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
# stopped: 0,2
import signal

import meet


def give_up(number, frame):
    raise RuntimeError("training was interrupted")


signal.signal(signal.SIGTERM, give_up)
meet.everybody_is_there()
if meet.RANK == 1:
    {}["x"]  # HERE
meet.sleep_for_ever()
