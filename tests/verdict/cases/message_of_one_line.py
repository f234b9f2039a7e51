# The message of the exception is one line of 100 kB.
# kind: exception
# ranks: 1
# type: RuntimeError
# message: no layer fits
import meet


def match(layers):
    raise RuntimeError("no layer fits: " + ", ".join(layers))  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    match([f"blocks.{n}.attention.weight" for n in range(4000)])
meet.sleep_for_ever()
