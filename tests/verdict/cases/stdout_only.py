# All that is known of the failure was written to stdout.
# kind: exception
# ranks: 2
# type: ValueError
# message: no such optimizer
import sys

import meet

sys.stderr = sys.stdout
meet.everybody_is_there()
if meet.RANK == 2:
    raise ValueError("no such optimizer")  # HERE
meet.sleep_for_ever()
