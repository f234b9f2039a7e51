# All ranks refuse an argument of the script.
# kind: exit_code
# some_of: 0,1,2
# exit_code: 2
# sentence: the following arguments are required: --data
import argparse

import meet

meet.everybody_is_there()
parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.parse_args()
