# Somebody has left a breakpoint in the program, and there is no terminal.
# kind: exception
# ranks: 1
# type: bdb.BdbQuit
# before: 3.14
import pdb

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    # Python before 3.13 stops at the next line, which is this one again.
    for _ in range(2): pdb.set_trace()  # HERE
meet.sleep_for_ever()
