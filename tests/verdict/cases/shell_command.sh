#!/bin/sh
# A shell script calls a program that is not there.
# kind: cannot_start
# some_of: 0,1,2
# exit_code: 127
exec no_such_program_at_all
