# One rank has caught and logged a traceback, has written on, and exits much later with a code.
# kind: exit_code
# ranks: 0
# exit_code: 7
# sentence: nothing more to try
import logging
import os
import sys

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    try:
        raise ConnectionResetError(104, "Connection reset by peer")
    except ConnectionResetError:
        logging.exception("retrying")
    for i in range(20):
        print(f"try {i}", file=sys.stderr)
    print("nothing more to try", file=sys.stderr, flush=True)
    os._exit(7)
meet.sleep_for_ever()
