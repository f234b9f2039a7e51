# A file is not there on one node.
# kind: exception
# ranks: 1
# type: FileNotFoundError
# hint: there is no such file
import meet

meet.everybody_is_there()
if meet.RANK == 1:
    open("/nowhere/data/train.bin", "rb")  # HERE
meet.sleep_for_ever()
