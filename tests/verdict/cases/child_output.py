# The output of a compiler is the message of an exception: forty lines that are not indented.
# kind: exception
# ranks: 1
# type: RuntimeError
# message: Error building extension
import meet


def build():
    lines = "\n".join(f"kernel.cu:{n}:7: error: expected ';' before 'return'" for n in range(40))
    raise RuntimeError("Error building extension 'fused_adam': " + lines)  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    build()
meet.sleep_for_ever()
