# A watchdog of the program's own, faulthandler's, writes where it is and ends it with code 1.
# kind: exit_code
# ranks: 1
# exit_code: 1
import faulthandler
import time

import meet


def read():
    time.sleep(600)  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    faulthandler.dump_traceback_later(0.5, exit=True)
    read()
meet.sleep_for_ever()
