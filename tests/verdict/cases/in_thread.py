# A thread dies of an exception, and the program ends because of it.
# kind: exception
# ranks: 1
# type: ZeroDivisionError
# exit_code: 5
import os
import threading

import meet


def prefetch():
    return 1 // 0  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    thread = threading.Thread(target=prefetch)
    thread.start()
    thread.join()
    os._exit(5)
meet.sleep_for_ever()
