#!/bin/sh
# The program is installed like a library: its own line is to be named, and not that of the json.
# kind: exception
# ranks: 1
# type: json.decoder.JSONDecodeError
# file: train.py
# line: 4
folder=$CASE_DIR/$RANK/site-packages
mkdir -p "$folder/trainer"
cat >"$folder/trainer/train.py" <<'END'
import json
import os
def load():
    return json.loads("{'lr': 1}")
def main():
    if os.environ["RANK"] == "1":
        load()
END
echo "from .train import main; main()" >"$folder/trainer/__main__.py"
[ "$RANK" = 1 ] || exec sleep 60
PYTHONPATH=$folder exec "$PYTHON_EXEC" -m trainer
