# The limit of a rank's memory is reached.
# kind: exception
# ranks: 1
# type: MemoryError
# hint: memory
import resource

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    block = bytearray(1 << 34)  # HERE
meet.sleep_for_ever()
