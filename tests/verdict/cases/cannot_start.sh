#!/nowhere/interpreter
# The interpreter of the script is not there.
# kind: cannot_start
# some_of: 0,1,2
# exit_code: 127
