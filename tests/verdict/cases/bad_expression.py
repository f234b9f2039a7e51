# An expression of the configuration cannot be parsed: the line that evaluates it is to be named.
# kind: exception
# ranks: 1
# type: SyntaxError
import meet


def warm_up(expression, steps):
    return eval(expression, {"steps": steps})  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    warm_up("0.1 * steps +", 1000)
meet.sleep_for_ever()
