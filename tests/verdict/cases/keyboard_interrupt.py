# A KeyboardInterrupt in one rank, which nobody has asked for at ddprun.
# kind: exception
# ranks: 0
# type: KeyboardInterrupt
import meet

meet.everybody_is_there()
if meet.RANK == 0:
    raise KeyboardInterrupt  # HERE
meet.sleep_for_ever()
