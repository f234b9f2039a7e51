# The message of the exception is very long.
# kind: exception
# ranks: 0
# type: ValueError
import meet

meet.everybody_is_there()
if meet.RANK == 0:
    raise ValueError("shape " + "1, " * 5000)  # HERE
meet.sleep_for_ever()
