#!/bin/sh
# Python does not find the script.
# kind: exit_code
# some_of: 0,1,2
# exit_code: 2
# hint: no such script
exec python3 /nowhere/train.py
