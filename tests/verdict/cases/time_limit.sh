#!/bin/sh
# The rank's program is run under timeout(1), which ends it.
# kind: exit_code
# ranks: 1
# exit_code: 124
[ "$RANK" = 1 ] || exec sleep 60
timeout 0.2 sleep 60
