#!/bin/sh
# Python does not find the module that is to be run.
# kind: exit_code
# some_of: 0,1,2
# exit_code: 1
# sentence: No module named no_such_trainer
exec "$PYTHON_EXEC" -m no_such_trainer
