# The message of the exception has 2000 lines, of 100 kB.
# kind: exception
# ranks: 1
# type: ValueError
# message: the configuration is invalid
import meet


def validate():
    lines = [f"data.shards[{n}].path: a field is required here (missing)" for n in range(2000)]
    raise ValueError("the configuration is invalid:\n" + "\n".join(lines))  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    validate()
meet.sleep_for_ever()
