"""A planted failure: its program, how it is run, and what a verdict on it has to say.

The head of the program, a comment, has a sentence and then labels, `name: value`. These are known:

    kind ranks exit_code signal type message hint sentence history: of the cause
    file line:     of the cause's exception; not given: the line with the word HERE
    some_of:       ranks, all or some of whom are the cause's
    also both:     ranks of other causes; ranks of the cause and of the others together
    followers stopped: ranks that follow by themselves, and those that ddprun stopped
    outcome ddprun_exit: of the job
    waiting operation: which ranks wait for the hanging ones, and in what
    workers nodes arguments memory needs flags: how it is run
    python before: the first version of Python that it is for, and the first one for which it is not
    clock_ahead:   the clock of the second node is that many seconds ahead of the first one's
    reports:       the nodes that live to write a report; not given: all
    known_wrong:   why the verdict is not right yet; the test complains once it is
"""

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"
LABEL = re.compile(r"(?:#|//) ([a-z_]+): (.*)")


@dataclass(eq=False)
class Case:
    path: Path
    labels: dict

    @property
    def name(self):
        return self.path.stem

    @property
    def workers(self):
        return int(self.labels.get("workers", "3"))

    @property
    def nodes(self):
        return int(self.labels.get("nodes", "1"))

    def numbers(self, name):
        return sorted(int(n) for n in self.labels[name].split(","))

    def place(self):
        """File and line of the fault; None where the case does not say."""
        if "line" in self.labels:
            return self.labels["file"], int(self.labels["line"])
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            if line.rstrip().endswith("HERE"):
                return self.path.name, number
        return None


def read(path):
    labels = {}
    for line in path.read_text().splitlines():
        if not line.startswith(("#", "//")):
            break
        if label := LABEL.fullmatch(line):
            labels[label[1]] = label[2]
    return Case(path, labels)


def all_cases():
    return [read(path) for path in sorted(CASES.iterdir()) if path.suffix in (".py", ".sh", ".cpp")]


def cannot_run(case, torch_python):
    """Why the case cannot be run here; None when it can."""
    if case.labels.get("needs") == "torch" and not torch_python:
        return "there is no PyTorch"
    wanted, before = case.labels.get("python"), case.labels.get("before")
    if wanted and not torch_python and version(wanted) > version(sysconfig.get_python_version()):
        return f"needs Python {wanted}"
    if before and version(before) <= version(sysconfig.get_python_version()):
        return f"needs a Python before {before}"
    return None


def version(text):
    return tuple(map(int, text.split(".")))


def own_frame(case, report):
    """The innermost frame of the first stack that is in the case's own program."""
    frames = report.get("stacks", [{}])[0].get("frames", [])
    return next((f for f in frames if Path(f.get("file", "")).name == case.path.name), {})


def differences(case, report, ddprun_exit):
    """What the report says otherwise than the labels, a sentence each."""
    cause = report.get("cause", {})
    exception = cause.get("exception", {})
    hang = report.get("hang", {})
    also = [rank for other in report.get("also", []) for rank in other.get("ranks", [])]
    followers = report.get("followers", [])

    def ranks_of(stopped):
        return sorted(r for f in followers if f["stopped_by_launcher"] == stopped for r in f["ranks"])

    found = {
        "kind": cause.get("kind"),
        "ranks": cause.get("ranks"),
        "exit_code": cause.get("exit_code"),
        "signal": cause.get("signal"),
        "type": exception.get("type"),
        "also": sorted(also),
        "both": sorted(cause.get("ranks", []) + also),
        "followers": ranks_of(False),
        "stopped": ranks_of(True),
        "outcome": report.get("outcome"),
        "ddprun_exit": ddprun_exit,
        "operation": hang.get("operation"),
        "waiting": hang.get("waiting_ranks"),
    }
    parts = {
        "message": exception.get("message", ""),
        "hint": cause.get("hint", ""),
        "sentence": cause.get("sentence", ""),
        "history": report.get("history", ""),
    }
    wrong = []
    for name, wanted in case.labels.items():
        if name in ("ranks", "also", "both", "waiting"):
            if found[name] != case.numbers(name):
                wrong.append(f"{name} {found[name]} in place of {wanted}")
        elif name == "some_of":
            if not found["ranks"] or not set(found["ranks"]) <= set(case.numbers(name)):
                wrong.append(f"ranks {found['ranks']} in place of some of {wanted}")
        elif name in ("followers", "stopped"):
            if not set(case.numbers(name)) <= set(ranks_of(False) + ranks_of(True)):
                wrong.append(f"{name} {found[name]} in place of {wanted}")
        elif name in found and str(found[name]) != wanted:
            wrong.append(f"{name} {found[name]} in place of {wanted}")
        elif name in parts and wanted not in parts[name]:
            wrong.append(f"{name} {parts[name]!r} has no {wanted!r}")
    twice = set(cause.get("ranks", [])) & set(ranks_of(False) + ranks_of(True))
    if twice:
        wrong.append(f"ranks {sorted(twice)} are the cause, and follow from it")
    for each in followers:
        if not 0 <= each["after_ms"] < 60_000:
            wrong.append(f"ranks {each['ranks']} followed {each['after_ms']} ms after")
    if case.place():
        file, line = case.place()
        found = own_frame(case, report) if hang else exception
        at = Path(found.get("file", "")).name, found.get("line")
        if at != (file, line):
            wrong.append(f"at {at[0]}:{at[1]} in place of {file}:{line}")
    return wrong
