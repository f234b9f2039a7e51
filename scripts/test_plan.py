#!/usr/bin/env python3
"""Chooses the tests that fit into the time that is left, and records how long tests take.

    test_plan.py choose SECONDS   prints the names of tests that are to be left out, and says why on stderr
    test_plan.py record WALL      writes tests/durations.txt: WALL seconds is what all tests took here

tests/durations.txt has how long each test took on one machine. How much slower this machine is, it finds out by
compiling one file of this build, which that machine has compiled as well.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
DURATIONS = ROOT / "tests/durations.txt"
MEASURED = "base/fmt_library.cpp"
LISTED_S = 2.0  # shorter ones are not worth leaving out
HEAD = """\
# How many seconds tests took when this file was written, by: scripts/test --record
# scripts/test --within leaves out the slowest ones where there is too little time for all.
"""


def compile_seconds():
    """How long this machine takes to compile a file, on all processors at once and without ccache."""
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        if Path(entry["file"]) == ROOT / MEASURED:
            break
    else:
        sys.exit(f"test_plan: {MEASURED} is not in the build")
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.monotonic()
        running = []
        for number in range(os.cpu_count() or 1):
            command = shlex.split(entry["command"])
            command[command.index("-o") + 1] = f"{scratch}/{number}.o"
            running.append(subprocess.Popen(command, cwd=entry["directory"], env={**os.environ, "CCACHE_DISABLE": "1"}))
        if any(process.wait() for process in running):
            sys.exit(f"test_plan: {MEASURED} cannot be compiled")
        return time.monotonic() - begun


def durations():
    """(seconds by test, with those of "compile" and "all")"""
    found = {}
    for line in DURATIONS.read_text().splitlines():
        if line and not line.startswith("#"):
            seconds, name = line.split(maxsplit=1)
            found[name] = float(seconds)
    return found


def processors():
    """How many processors each test takes, by its name."""
    shown = subprocess.run(["ctest", "--test-dir", str(BUILD), "--show-only=json-v1"], check=True, capture_output=True)
    found = {}
    for test in json.loads(shown.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        found[test["name"]] = int(properties.get("PROCESSORS", 1))
    return found


def left_out(seconds, takes, slowness, left):
    """The slowest tests without which the others end in time, and how long all would take."""
    work = {name: seconds.get(name, 0) * takes[name] for name in takes}
    rest_s = seconds["all"] * slowness
    per_work = rest_s / max(sum(work.values()), 1)
    names = []
    for name in sorted(work, key=work.get, reverse=True):
        if rest_s <= left or work[name] == 0:
            break
        rest_s -= work[name] * per_work
        names.append(name)
    return names, seconds["all"] * slowness


def choose(left):
    seconds = durations()
    slowness = max(compile_seconds() / seconds["compile"], 0.1)
    names, expected = left_out(seconds, processors(), slowness, left)
    print(f"all tests took {seconds['all']:.0f} s last time, and this machine takes {slowness:.1f} times as long: "
          f"{expected:.0f} s, of the {left:.0f} s that are left", file=sys.stderr)
    print("\n".join(names))


def record(wall):
    costs = {}
    for line in (BUILD / "Testing/Temporary/CTestCostData.txt").read_text().splitlines():
        if line == "---":
            break
        name, _, cost = line.rsplit(maxsplit=2)
        costs[name] = float(cost)
    lines = [f"{compile_seconds():.1f} compile", f"{wall:.0f} all"]
    for name in sorted(costs, key=costs.get, reverse=True):
        if costs[name] >= LISTED_S:
            lines.append(f"{costs[name]:.0f} {name}")
    DURATIONS.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    what, number = sys.argv[1], float(sys.argv[2])
    {"choose": choose, "record": record}[what](number)
