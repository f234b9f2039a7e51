# If attempt after attempt has the same root, the report says so.
# kind: exception
# ranks: 1
# type: KeyError
# arguments: --max-restarts 2
# history: failed 3 times at restarts.py
import meet

meet.everybody_is_there()
if meet.RANK == 1:
    {}["x"]  # HERE
meet.sleep_for_ever()
