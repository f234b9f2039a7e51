# While Python writes the traceback, a process of the rank's data loader writes lines of its own.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
import sys
import traceback

import meet


def with_others_lines(*error):
    for number, line in enumerate("".join(traceback.format_exception(*error)).splitlines()):
        print(line, file=sys.stderr)
        if number % 2 == 1:
            print(f"loader 3: shard {number} is read", file=sys.stderr)


def configure(settings):
    return settings["learning_rate"]  # HERE


sys.excepthook = with_others_lines
meet.everybody_is_there()
if meet.RANK == 1:
    configure({})
meet.sleep_for_ever()
