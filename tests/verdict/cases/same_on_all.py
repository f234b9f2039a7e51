# All ranks fail at the same line, each in its own time.
# kind: exception
# some_of: 0,1,2
# type: AssertionError
import time

import meet

meet.everybody_is_there()
time.sleep(0.002 * meet.RANK)
assert meet.WORLD_SIZE == 5, "five ranks are needed"  # HERE
