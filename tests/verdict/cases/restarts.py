# The same root in attempt after attempt is said to be the same.
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
