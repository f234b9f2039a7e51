# A rank has closed its streams, and exits without a word.
# kind: exit_code
# ranks: 1
# exit_code: 6
import os

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    os.close(1)
    os.close(2)
    os._exit(6)
meet.sleep_for_ever()
