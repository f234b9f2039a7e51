# A rank says "Error" and goes on; another one dies.
# kind: signal
# ranks: 1
# signal: SIGABRT
import os
import sys

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    print("RuntimeError: CUDA out of memory, trying a smaller batch", file=sys.stderr, flush=True)
    meet.tell("printed")
if meet.RANK == 1:
    meet.wait_for("printed")
    os.abort()
meet.sleep_for_ever()
