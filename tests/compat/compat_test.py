"""Does ddprun do what torchrun does?

    python compat_test.py DDPRUN [NAME_PATTERN...]
    python compat_test.py --list

Runs every command line of the table (rows.py) under both, each in a scratch folder of its own, and
compares exit codes, what workers find (environment, arguments, open files...), what reaches the
console, and the log files. A pattern is a piece of a row's name. torchrun is the one beside the Python that
runs this, which has torch.
"""

import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare import mistakes, mistakes_without_equal
from forked import Server
from rows import ROWS
from runner import base_environment, run
from versions import old_variables, torch_version, unknown_options

AT_ONCE = 2  # importing torch takes torchrun a second or two of a processor


def may_be_forked(row):
    """Whether torchrun finds nothing else than what it would find as a program of its own: some variables are
    read as Python starts and as torch is imported, and workers of --run-path are made by this Python."""
    return (not row.launch and "--run-path" not in row.arguments
            and all(name.startswith("PET_") for name in row.environment))


def compared(row, ddprun, server):
    python = Path(sys.executable)
    theirs = [str(python), "-m", "torch.distributed.launch"] if row.launch else [str(python.with_name("torchrun"))]
    ours = [str(ddprun), "launch"] if row.launch else [str(ddprun)]
    how = {"start": server.start} if may_be_forked(row) else {}
    runs = run(theirs, row, python.parent, **how), run(ours, row, python.parent)
    options = unknown_options(row, torch_version())
    return mistakes_without_equal(row, options, *runs) if options else mistakes(row, *runs, torch_version())


def show(row, found):
    if found:
        print(f"FAILED {row.name}")
        for line in found:
            print(f"    {line}")
    elif options := unknown_options(row, torch_version()):
        print(f"ok (this torchrun has no {', '.join(options)}) {row.name}")
    elif row.differs:
        print(f"ok (differs: {row.differs}) {row.name}")
    else:
        print(f"ok {row.name}")
    sys.stdout.flush()


def main(arguments):
    if arguments == ["--list"]:
        print("\n".join(row.name for row in ROWS))
        return 0
    if not arguments:
        sys.exit(__doc__)
    ddprun, patterns = Path(arguments[0]).absolute(), arguments[1:]
    rows = [row for row in ROWS if not patterns or any(p in row.name for p in patterns)]
    # Workers are to be killed without leaving a core, and to find no signal ignored.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for ignored in [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP]:
        signal.signal(ignored, signal.default_int_handler if ignored == signal.SIGINT else signal.SIG_DFL)

    equal = wanted = newer = failed = 0
    with Server(base_environment(Path(sys.executable).parent)) as server, ThreadPoolExecutor(AT_ONCE) as pool:
        for row, found in zip(rows, pool.map(lambda r: compared(r, ddprun, server), rows)):
            show(row, found)
            too_new = bool(unknown_options(row, torch_version()))
            failed += bool(found)
            newer += too_new and not found
            wanted += bool(row.differs and not too_new and not found)
            equal += not row.differs and not too_new and not found
    for name, old in old_variables(torch_version()).items():
        print(f"{name}: this torchrun sets {old.theirs or 'none'}, ddprun {old.ours}: {old.why}")
    print(f"{len(rows)} command lines, {equal} equal, {wanted} wanted differences, "
          f"{newer} with options newer than this torchrun, {failed} failed")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
