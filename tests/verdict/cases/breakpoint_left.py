# Somebody has left a breakpoint in the program, and there is no terminal.
# kind: exception
# ranks: 1
# type: bdb.BdbQuit
import meet

meet.everybody_is_there()
if meet.RANK == 1:
    breakpoint()
    print("unreachable")  # HERE
meet.sleep_for_ever()
