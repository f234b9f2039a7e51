#!/bin/sh
# A shell script runs Python, and exits with the code of that.
# kind: exception
# ranks: 1
# type: KeyError
# exit_code: 1
# file: <string>
# line: 2
set -e
echo "preparing rank $RANK"
[ "$RANK" = 1 ] || exec sleep 60
"$PYTHON_EXEC" -c "
{}['x']
"
echo "done"
