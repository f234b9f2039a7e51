# The rank writes megabytes before its traceback, and others go on writing.
# kind: exception
# ranks: 1
# type: IndexError
import sys

import meet

meet.everybody_is_there()
for i in range(40000):
    print(f"step {i} " + "x" * 100, file=sys.stderr)
if meet.RANK == 1:
    [][3]  # HERE
meet.sleep_for_ever()
