# A rank exits with a code of its own and says why.
# kind: exit_code
# ranks: 2
# exit_code: 17
# sentence: no data left
# stopped: 0,1
import os
import sys

import meet

meet.everybody_is_there()
if meet.RANK == 2:
    print("no data left", file=sys.stderr)
    sys.stderr.flush()
    os._exit(17)
meet.sleep_for_ever()
