# A rank has printed a traceback, has said nothing since, and exits seconds later with a code.
# kind: exit_code
# ranks: 2
# exit_code: 6
import os
import time
import traceback

import meet

meet.everybody_is_there()
if meet.RANK == 2:
    try:
        {}["cache"]
    except KeyError:
        traceback.print_exc()
    time.sleep(4)
    os._exit(6)
meet.sleep_for_ever()
