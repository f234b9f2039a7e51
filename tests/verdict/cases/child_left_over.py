# A rank fails, and a program that it has started goes on to write into the rank's output.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
import subprocess
import time

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    monitor = "while :; do echo monitor: gpu 0 is at 93 % >&2; sleep 0.05; done"
    subprocess.Popen(["sh", "-c", monitor], start_new_session=True)
    time.sleep(0.5)
    {}["x"]  # HERE
meet.sleep_for_ever()
