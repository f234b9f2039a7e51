# The program logs its exception as one line of JSON, with the traceback in it, and exits.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
import json
import logging
import sys

import meet


class AsJson(logging.Formatter):
    def format(self, record):
        line = {"time": record.created, "level": record.levelname, "message": record.getMessage()}
        if record.exc_info:
            line["exc_info"] = self.formatException(record.exc_info)
        return json.dumps(line)


def main():
    meet.everybody_is_there()
    if meet.RANK == 1:
        {}["x"]  # HERE
    meet.sleep_for_ever()


handler = logging.StreamHandler()
handler.setFormatter(AsJson())
logging.basicConfig(handlers=[handler], level=logging.INFO)
try:
    main()
except Exception:
    logging.exception("training failed")
    sys.exit(1)
