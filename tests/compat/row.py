"""What a row of the table is. The rows themselves: rows_run.py, rows_logs.py, rows_refused.py."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One command line. In arguments and environment {programs}, {scratch}, {logs} and {port} (a free
    one) are replaced. Everything Run holds is compared, unless the row says otherwise."""

    name: str
    arguments: tuple
    environment: dict = field(default_factory=dict)
    launch: bool = False  # python -m torch.distributed.launch, and ddprun launch
    signal: str = ""  # sent to the launcher once `ready` workers have said that they run
    ready: int = 0
    code: int = 0  # torchrun's exit code
    differs: str = ""  # why ddprun is to do something else, which `instead` holds by aspect
    instead: dict = field(default_factory=dict)
    ignore: tuple = ()  # not compared: an aspect, something in the workers' dumps, a variable
    reports: str = ""  # in the standard error of both
    one_line: str = ""  # in the only line that ddprun writes on standard error
    keeps: str = ""  # the names of files that ddprun may leave in the temporary directory, as a regex
    help: bool = False  # ddprun's help names every option in torchrun's

    def uses_port(self):
        return any("{port}" in text for text in (*self.arguments, *self.environment.values()))


EXIT_STATUS = "the exit code says how the first worker ended"
STOP_STATUS = "the exit code says which signal stopped it"


def row(name, *arguments, **fields):
    return Row(name, arguments, **fields)


def ends_with(code, name, *arguments, **fields):
    """torchrun exits 1 whatever happened to its workers."""
    fields = {"differs": EXIT_STATUS, "instead": {"exit code": code}} | fields
    return Row(name, arguments, code=1, **fields)


def stopped_by(signal, number, name, *arguments, ready, **fields):
    instead = {"exit code": 128 + number}
    return Row(name, arguments, signal=signal, ready=ready, code=1, differs=STOP_STATUS,
               instead=instead, **fields)


def refused(name, *arguments, names, code=1, ddprun=2, **fields):
    """ddprun exits 2 where torchrun shows a traceback and exits 1."""
    why = {} if code == ddprun else {
        "differs": "one line that names the mistake, and an exit code of its own",
        "instead": {"exit code": ddprun},
    }
    return Row(name, arguments, code=code, one_line=names, **(fields | why))


def tolerated(why, name, *arguments, code=1, **fields):
    """torchrun fails; under ddprun dump_env.py runs, without arguments."""
    instead = {"exit code": 0, "workers": ["attempt 0 rank 0"],
               "stdout": ["says: rank 0 has no arguments"]}
    return Row(name, arguments, code=code, differs=why, instead=instead, **fields)
