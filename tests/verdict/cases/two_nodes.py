# A rank of the second node is the cause; both nodes say so.
# kind: exception
# nodes: 2
# workers: 2
# ranks: 3
# type: LookupError
# stopped: 0,1,2
import meet

meet.everybody_is_there()
if meet.RANK == 3:
    raise LookupError("no such word")  # HERE
meet.sleep_for_ever()
