"""What torchrun's own versions do differently, for the versions that the table is run with.

The rows say what torchrun 2.10 and later do. An older one has fewer options, and sets two variables
otherwise; ddprun does the same whichever torch the workers have, for it does not look for one.
"""

from dataclasses import dataclass
from importlib.metadata import version

# The first version that knows an option; all others were there in 2.4.
OPTIONS_SINCE = {
    "--event-log-handler": (2, 8),
    "--numa-binding": (2, 9),
    "--signals-to-handle": (2, 10),
    "--virtual-local-rank": (2, 10),
    "--duplicate-stdout-filters": (2, 10),
    "--duplicate-stderr-filters": (2, 10),
}


@dataclass(frozen=True)
class OldVariable:
    """Before the version `since`, torchrun gives a worker `theirs` where ddprun and later ones give `ours`;
    None: not at all."""

    since: tuple
    theirs: object
    ours: object
    why: str


VARIABLES_SINCE = {
    "TORCHELASTIC_USE_AGENT_STORE": OldVariable(
        (2, 5), "False", "True", "rank 0 opened a store of its own where c10d is the back-end; under ddprun "
        "the workers of every version meet in the agent's"),
    "TORCHELASTIC_SIGNALS_TO_HANDLE": OldVariable(
        (2, 10), None, "SIGTERM,SIGINT,SIGHUP,SIGQUIT", "the option --signals-to-handle did not exist"),
}


def torch_version():
    """(2, 4) for 2.4.1, by the Python that runs this."""
    return tuple(int(part) for part in version("torch").split(".")[:2])


def unknown_options(row, torch):
    """Those of the row that torchrun of this version does not know."""
    spelled = [argument.split("=")[0].replace("_", "-") for argument in row.arguments]
    return sorted({option for option in spelled if OPTIONS_SINCE.get(option, torch) > torch})


def old_variables(torch):
    return {name: old for name, old in VARIABLES_SINCE.items() if torch < old.since}
