# sys.exit with a text: code 1, and no traceback.
# kind: exit_code
# ranks: 0
# exit_code: 1
# sentence: the batch size must divide the data
import sys

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    sys.exit("the batch size must divide the data")
meet.sleep_for_ever()
