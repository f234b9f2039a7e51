"""Rank 0 ends at once; the others go on after that."""

import os

from dump_env import dump, say

dump()
meeting = os.environ["COMPAT_MEETING"]
if os.environ["RANK"] == "0":
    held = os.open(meeting, os.O_WRONLY)  # closed when this process has ended
    say("ends")
else:
    with open(meeting) as file:
        file.read()
    say("outlived rank 0")
