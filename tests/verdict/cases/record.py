# torch's @record writes the exception down, and nothing of it is on the streams.
# kind: exception
# ranks: 1
# type: TypeError
# message: unsupported
# needs: torch
# exit_code: 1
import os
import sys

from torch.distributed.elastic.multiprocessing.errors import record

import meet


@record
def main():
    meet.everybody_is_there()
    if meet.RANK == 1:
        sys.stderr = open(os.devnull, "w")
        len("a") + "b"  # HERE
    meet.sleep_for_ever()


main()
