"""What must be equal, what may differ, and how a difference is shown."""

import difflib
import re

from versions import old_variables

# Lines of workers on standard error, among those of the launcher: a marker, perhaps after a prefix.
FROM_A_WORKER = re.compile(r"(\[[^\]]*\]:|<[^>]*>)?says: ")
NOTHING = "nothing"
SHOWN = 8


def mistakes(row, torchrun, ddprun, torch):
    """Lines that say what is not as it should be; none when all is well. `torch` is torchrun's version."""
    found = []
    if torchrun.exit_code != row.code:
        found += [f"torchrun itself: exit code {torchrun.exit_code}, the table says {row.code}"]
        found += [f"  torchrun: {line}" for line in torchrun.stderr[-SHOWN:]]
    if row.code == 0 and not torchrun.workers and not torchrun.stdout:
        found.append("torchrun itself: no worker did anything")
    different = differences(row, seen_of(row, torchrun), seen_of(row, ddprun), old_variables(torch))
    found += different
    if different and not row.one_line:
        found += [f"  ddprun: {line}" for line in ddprun.stderr[-SHOWN:]]
    found += leftovers(row, ddprun)
    if row.one_line:
        found += only_line(row, ddprun.stderr)
    if row.reports:
        found += [f"{row.reports!r} is not in the standard error of {name}"
                  for name, run in [("torchrun", torchrun), ("ddprun", ddprun)]
                  if not any(row.reports in line for line in run.stderr)]
    if row.help:
        found += [f"ddprun's help does not name {option}"
                  for option in sorted(options_of(torchrun.stdout) - options_in(ddprun.stdout))]
    return found


def mistakes_without_equal(row, options, torchrun, ddprun):
    """The same where this torchrun is too old to know all options: it refuses them, and there is nothing to
    compare ddprun with but the table."""
    found = []
    refusal = torchrun.stdout + torchrun.stderr + [line for log in torchrun.logs.values() for line in log]
    if torchrun.exit_code == 0 or not any(option in line.replace("_", "-") for line in refusal for option in options):
        found.append(f"torchrun itself: exit code {torchrun.exit_code}, and it does not refuse {options}")
    wanted = row.instead.get("exit code", row.code)
    if ddprun.exit_code != wanted:
        found += [f"exit code: the table says {wanted}, ddprun: {ddprun.exit_code}"]
        found += [f"  ddprun: {line}" for line in ddprun.stderr[-SHOWN:]]
    if wanted == 0 and not ddprun.workers and not ddprun.stdout:
        found.append("no worker of ddprun did anything")
    return found + leftovers(row, ddprun) + (only_line(row, ddprun.stderr) if row.one_line else [])


def seen_of(row, run):
    """All that is compared, by name; what follows the last ': ' is a name that rows may use."""
    # torchrun writes neither a report nor a record beside them.
    logs = {path: lines for path, lines in run.logs.items()
            if not path.endswith("/report.json") and not path.startswith(".last-good-run.")}
    seen = {
        "exit code": run.exit_code,
        "stdout": sorted(run.stdout),
        "stderr": sorted(line for line in run.stderr if FROM_A_WORKER.match(line)),
        "workers": sorted(run.workers),
        "log files": sorted(logs),
    }
    for path, lines in logs.items():
        seen[f"log: {path}"] = sorted(lines)
    for worker, dump in run.workers.items():
        for what, value in dump.items():
            if what != "variables":
                seen[f"{worker}: {what}"] = value
        for name, value in dump["variables"].items():
            # torchrun sets none of these.
            ours = name.startswith(("DDPRUN_", "KUBEFLOW_TRAINER_")) or name == "PYTHONFAULTHANDLER"
            if not ours or name in row.environment:
                seen[f"{worker}: {name}"] = comparable(name, value, row, run.port)
    return {name: value for name, value in seen.items() if name.split(": ")[-1] not in row.ignore}


def comparable(name, value, row, port):
    """The value of a variable, or what kind of value it is where the two cannot be equal."""
    if port and value == str(port):
        return "{port}"
    if name in ("TMPDIR", "COMPAT_RUN"):
        return "set"
    if name == "MASTER_ADDR" and not row.uses_port():
        return "set" if value and value != row.environment.get(name) else f"not ours: {value!r}"
    if name == "MASTER_PORT" and value.isdigit() and int(value) > 1024:
        return "a free port"
    if name == "OMP_NUM_THREADS" and name not in row.environment:
        return "a number" if re.fullmatch("[1-9][0-9]*", value) else f"no number: {value!r}"
    if name == "TORCHELASTIC_ERROR_FILE" and not value.startswith("{scratch}/logs/"):
        return "/".join(value.split("/")[-3:])  # attempt_N/<local rank>/error.json
    return value


def differences(row, torchrun, ddprun, old):
    found = []
    strangers = {name for group in ["workers", "log files"]  # one difference, not fifty
                 for name in set(torchrun.get(group, [])) ^ set(ddprun.get(group, []))}
    for name in sorted(torchrun.keys() | ddprun.keys()):
        if strangers & set(name.split(": ")):
            continue
        expected, got = torchrun.get(name, NOTHING), ddprun.get(name, NOTHING)
        wanted = row.instead.get(name.split(": ")[-1], expected)
        variable = old.get(name.split(": ")[-1])
        if variable and expected == (NOTHING if variable.theirs is None else variable.theirs):
            wanted = variable.ours
        if wanted is not expected and wanted == expected:
            found.append(f"{name}: torchrun does the same as ddprun, which is no difference any more")
        if got != wanted:
            found += shown(name, wanted, got)
    return found


def shown(name, expected, got):
    if not isinstance(expected, list) or not isinstance(got, list):
        return [f"{name}: expected {expected!r}, ddprun: {got!r}"]
    lines = [line for line in difflib.ndiff([str(e) for e in expected], [str(g) for g in got])
             if line[0] in "+-"]
    return [f"{name} (+ is what only ddprun has):"] + [f"  {line}" for line in lines[:SHOWN]]


def leftovers(row, run):
    """ddprun leaves nothing; what a row lets it keep comes with the folders around it."""
    names = [left.split("/")[-1] for left in run.leftovers]
    kept = row.keeps and any(re.fullmatch(row.keeps, name) for name in names)
    allowed = rf"{row.keeps}|ddprun_\w+|(job|none|{{fresh id}})_\w+|attempt_\d+|\d+" if kept else "$^"
    return [f"left behind: {left}" for left, name in zip(run.leftovers, names)
            if left.startswith("process ") or not re.fullmatch(allowed, name)]


def only_line(row, stderr):
    if len(stderr) != 1:
        return [f"{len(stderr)} lines on ddprun's standard error instead of one:"] + [
            f"  {line}" for line in stderr[:SHOWN]]
    return [] if row.one_line in stderr[0] else [f"{row.one_line!r} is not in {stderr[0]!r}"]


def options_of(lines):
    """Those that the help explains, not what else its texts have with two dashes."""
    return options_in(line for line in lines if line.lstrip().startswith("-"))


def options_in(lines):
    return {option for line in lines for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*(?![\w-])", line)}
