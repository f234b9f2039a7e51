"""Writes what a worker finds when it starts, into one file an attempt and rank."""

import json
import os
import pathlib
import signal
import sys


def say(text, stream=None):
    # One write, not print()'s two: under torchrun nothing else keeps workers' lines apart.
    (stream or sys.stdout).write(f"says: rank {os.environ['RANK']} {text}\n")


def open_files():
    """The numbers of the open files; one of them reads the folder, and is closed by now.

    ddprun has one in which Python writes its stacks when workers hang (--no-introspection has not).
    """
    files = [pathlib.Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sorted(int(file.name) for file in files
                  if file.exists() and not str(file.readlink()).endswith(".stacks"))


def signals(field):
    with open("/proc/self/status") as status:
        mask = next(int(line.split()[1], 16) for line in status if line.startswith(field))
    return [s.name for s in signal.valid_signals() if isinstance(s, signal.Signals) and mask >> s - 1 & 1]


def dump():
    found = {
        "variables": dict(os.environ),
        "arguments": sys.argv,
        "main module": __name__ if __name__ == "__main__" else sys.modules["__main__"].__name__,
        "first folder of imports": sys.path[0],
        "python": sys.prefix,
        "flags": str(sys.flags),
        "unbuffered": sys.stdout.write_through,
        "folder": os.getcwd(),
        "session leader": os.getpid() == os.getsid(0) == os.getpgid(0),
        "open files": open_files(),
        "stdin": os.readlink("/proc/self/fd/0"),
        "ignored signals": signals("SigIgn"),
        "blocked signals": signals("SigBlk"),
    }
    name = f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']} rank {os.environ['RANK']}"
    with open(os.path.join(os.environ["COMPAT_DUMPS"], name), "x") as file:
        json.dump(found, file)


if __name__ == "__main__":
    dump()
    say(f"has {' '.join(sys.argv[1:]) or 'no arguments'}")
