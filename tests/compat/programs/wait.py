"""Says that it is ready, and waits for a signal, which it names."""

import os
import signal
import sys

from dump_env import dump, say


def end(number, _):
    say(f"got {signal.Signals(number).name}")
    sys.exit(0)


for name in ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]:
    signal.signal(signal.Signals[name], end)
dump()
with open(os.environ["COMPAT_READY"], "w") as ready:
    ready.write("ready\n")
while True:
    signal.pause()
