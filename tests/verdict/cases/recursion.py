# A recursion without an end: Python leaves most of the frames out.
# kind: exception
# ranks: 1
# type: RecursionError
import meet


def flatten(tree):
    return flatten(tree)  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    flatten({})
meet.sleep_for_ever()
