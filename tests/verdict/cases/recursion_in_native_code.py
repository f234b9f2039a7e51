# The limit of recursions is raised, and a native parser overflows the stack.
# kind: signal
# ranks: 1
# signal: SIGSEGV
# before: 3.12
# stopped: 0,2
import json
import sys

import meet


def parse(text):
    sys.setrecursionlimit(10**9)
    return json.loads(text)  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    parse("[" * 10**6)
meet.sleep_for_ever()
