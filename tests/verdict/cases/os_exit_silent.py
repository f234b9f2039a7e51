# os._exit without a word.
# kind: exit_code
# ranks: 1
# exit_code: 9
import os

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    os._exit(9)
meet.sleep_for_ever()
