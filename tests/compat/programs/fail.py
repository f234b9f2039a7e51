"""HOW RANK ATTEMPTS: in that many attempts that rank ends so (an exit code, or the name of a signal)
once all others run; they then wait to be stopped. In later attempts all end well."""

import os
import signal
import sys

from dump_env import dump, say

how, failing, attempts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
others = int(os.environ["WORLD_SIZE"]) - 1

dump()
say(f"is in attempt {attempt}")
say(f"complains in attempt {attempt}", sys.stderr)
if attempt >= attempts:
    sys.exit(0)

# What was written stays in the pipe while a writer lives.
meeting = os.open(os.environ["COMPAT_MEETING"], os.O_RDWR)
if int(os.environ["RANK"]) != failing:
    os.write(meeting, b"x")
    while True:
        signal.pause()
for _ in range(others):
    os.read(meeting, 1)
if how.isdigit():
    sys.exit(int(how))
os.kill(os.getpid(), signal.Signals[how])
