"""Writes an error file as programs without torch do, with the message as plain text, and fails."""

import json
import os
import sys

with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
    json.dump({"message": "the disk is full", "timestamp": 1700000000}, file)
sys.exit(7)
