#!/bin/sh
# An interpreter chosen with PYTHON_EXEC: the one of the tests, and a sign that it was this one.
WRAPPED=yes exec python "$@"
