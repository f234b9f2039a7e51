# A rank prints a traceback that it has dealt with, and goes on. Another one exits plainly.
# kind: exit_code
# ranks: 2
# exit_code: 3
import os
import time
import traceback

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    try:
        {}["cache"]
    except KeyError:
        traceback.print_exc()
    meet.tell("printed")
if meet.RANK == 2:
    meet.wait_for("printed")
    time.sleep(0.01)
    os._exit(3)
meet.sleep_for_ever()
