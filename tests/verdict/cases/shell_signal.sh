#!/bin/sh
# A shell tells of its program's signal as a code.
# kind: exit_code
# ranks: 1
# exit_code: 139
# hint: SIGSEGV
[ "$RANK" = 1 ] || exec sleep 60
sh -c 'kill -SEGV $$'
exit $?
