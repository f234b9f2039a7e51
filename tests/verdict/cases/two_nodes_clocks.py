# The clocks of the two nodes are a day apart: who followed how soon is known all the same.
# kind: exception
# nodes: 2
# workers: 2
# ranks: 1
# type: RuntimeError
# message: first
# clock_ahead: 100000
# stopped: 0,2,3
import meet

meet.everybody_is_there()
if meet.RANK == 1:
    raise RuntimeError("first")  # HERE
meet.sleep_for_ever()
