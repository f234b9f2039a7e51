#!/bin/sh
# A script calls a file that may not be executed.
# kind: cannot_start
# some_of: 0,1,2
# exit_code: 126
# hint: may not
exec /etc/passwd
