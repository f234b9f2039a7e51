# The script catches the exception, logs it, cleans up, and exits with code 1.
# kind: exception
# ranks: 2
# type: KeyError
# exit_code: 1
import logging
import sys

import meet


def main():
    meet.everybody_is_there()
    if meet.RANK == 2:
        {}["x"]  # HERE
    meet.sleep_for_ever()


try:
    main()
except Exception:
    logging.exception("training failed")
    print("saving the log", file=sys.stderr)
    sys.exit(1)
