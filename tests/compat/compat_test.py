"""Does ddprun do what torchrun does?

    python compat_test.py DDPRUN TORCHRUN [NAME_PATTERN...]
    python compat_test.py --list

Runs every command line of the table (rows.py) under both, each in a scratch folder of its own, and
compares exit codes, what workers find (environment, arguments, open files...), what reaches the
console, and the log files. A pattern is a piece of a row's name; TORCHRUN is torch's own script, with
the Python it belongs to beside it.
"""

import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare import mistakes
from rows import ROWS
from runner import run

AT_ONCE = 2  # importing torch takes torchrun a second or two of a processor


def compared(row, ddprun, torchrun):
    beside = torchrun.parent
    theirs = [str(beside / "python"), "-m", "torch.distributed.launch"] if row.launch else [str(torchrun)]
    ours = [str(ddprun), "launch"] if row.launch else [str(ddprun)]
    return mistakes(row, run(theirs, row, beside), run(ours, row, beside))


def show(row, found):
    if found:
        print(f"FAILED {row.name}")
        for line in found:
            print(f"    {line}")
    elif row.differs:
        print(f"ok (differs: {row.differs}) {row.name}")
    else:
        print(f"ok {row.name}")
    sys.stdout.flush()


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(row.name for row in ROWS))
        return 0
    if len(arguments) < 2:
        sys.exit(__doc__)
    ddprun, torchrun, *patterns = arguments
    ddprun, torchrun = Path(ddprun).absolute(), Path(torchrun).absolute()
    rows = [row for row in ROWS if not patterns or any(p in row.name for p in patterns)]
    # Workers are to be killed without leaving a core, and to find no signal ignored.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for ignored in [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP]:
        signal.signal(ignored, signal.default_int_handler if ignored == signal.SIGINT else signal.SIG_DFL)

    equal = wanted = failed = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for row, found in zip(rows, pool.map(lambda r: compared(r, ddprun, torchrun), rows)):
            show(row, found)
            failed += bool(found)
            wanted += bool(row.differs and not found)
            equal += not row.differs and not found
    print(f"{len(rows)} command lines, {equal} equal, {wanted} wanted differences, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
