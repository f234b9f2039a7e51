# An exception in __del__ is ignored by Python, and so it is no cause of an exit with a code.
# kind: exit_code
# ranks: 1
# exit_code: 4
import sys

import meet


class Handle:
    def __del__(self):
        raise RuntimeError("ignored")


meet.everybody_is_there()
if meet.RANK == 1:
    handle = Handle()
    del handle
    sys.exit(4)
meet.sleep_for_ever()
