#!/usr/bin/env python3
"""Runs the planted failures of cases/ under ddprun and compares each report with its labels.

    verdict_test.py DDPRUN [--torchrun] [--jobs N] [CASE...]

With --torchrun, torchrun runs the same, and a table has what either report has right.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import beside_torchrun
import case as cases

TIMEOUT = 600
REPORT_LINES_MAX = 24  # one screen
TORCHRUN_MEMORY = 2000  # MiB; it needs some 500, and is not to be the largest when memory ends
HERE = Path(__file__).resolve().parent
QUICK_TORCH = HERE.parent / "support/quick_torch"
MEMORY = Path("/sys/fs/cgroup/memory")


def free_port():
    """One that Linux gives to nobody who takes any: those are 32768 and more."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def torch_python():
    folder = os.environ.get("DDPRUN_WORKERS_TORCH_ENV") or os.environ.get("DDPRUN_TORCH_ENV", "")
    python = Path(folder) / "bin/python"
    return str(python) if folder and python.exists() else None


def build(case, scratch):
    """The words that run the case's program behind ddprun's own."""
    if case.path.suffix == ".cpp":
        program = scratch / case.name
        flags = case.labels.get("flags", "-g").split()
        subprocess.run(["g++", "-std=c++17", *flags, str(case.path), "-o", str(program)], check=True)
        return ["--no-python", str(program)]
    if case.path.suffix == ".sh":
        program = scratch / case.path.name
        shutil.copy(case.path, program)
        program.chmod(0o755)
        return ["--no-python", str(program)]
    return [str(case.path)]


def with_memory_limit(case, command, more):
    """The command in a cgroup that has no more memory than the case wants, and `more` MiB."""
    group = MEMORY / f"verdict_{os.getpid()}_{case.name}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(f"{int(case.labels['memory'].rstrip('M')) + more}M")
    inside = f'echo $$ >{group}/cgroup.procs && exec "$@"'
    return ["sh", "-c", inside, "sh", *command], group


def wrapped(case, node, words, more_memory=0):
    """The words of a node with the clock and the memory of the case, and the cgroup made for it."""
    if node == 1 and "clock_ahead" in case.labels:
        words = ["unshare", "--fork", "--time", "--monotonic", case.labels["clock_ahead"],
                 "--kill-child", *words]
    if "memory" in case.labels:
        return with_memory_limit(case, words, more_memory)
    return words, None


def remove_group(group):
    """Removes a cgroup, once the kernel has let go of the processes in it."""
    deadline = time.monotonic() + 10
    while group and group.exists():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def environment(case, scratch):
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(scratch),
        "PYTHONPATH": f"{HERE}:{QUICK_TORCH}" if case.labels.get("needs") == "torch" else str(HERE),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CASE_DIR": str(scratch),
        "TMPDIR": str(scratch),
        "PYTHON_EXEC": torch_python() or sys.executable,
        "OMP_NUM_THREADS": "1",
        "ASAN_OPTIONS": "detect_leaks=0",
    }


def other_clocks_are_there():
    try:
        made = subprocess.run(["unshare", "--fork", "--time", "--monotonic", "9", "true"],
                              stderr=subprocess.DEVNULL)
        return made.returncode == 0
    except FileNotFoundError:
        return False


class Ended:
    def __init__(self, code, err, report):
        self.code, self.err, self.report = code, err, report


def run_node(case, command, scratch, node):
    """Starts one node; returns its process, and the file of its report."""
    report = scratch / f"report_{node}.json"
    words = [command, "--nproc-per-node", str(case.workers), "--report-file", str(report)]
    return words, report


def run_ddprun(case, ddprun, scratch):
    """How each node ended."""
    program = build(case, scratch)
    port = str(free_port())
    running, group = [], None
    for node in range(case.nodes):
        words, report = run_node(case, ddprun, scratch, node)
        if case.nodes > 1:
            words += ["--nnodes", str(case.nodes), "--node-rank", str(node), "--master-port", port]
        words += case.labels.get("arguments", "").split() + program
        words, group = wrapped(case, node, words)
        err = open(scratch / f"err_{node}", "w+b")
        process = subprocess.Popen(
            words, env=environment(case, scratch), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=err, start_new_session=True)
        running.append((process, err, report))
    ends = []
    for process, err, report in running:
        try:
            code = process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            code = "no end"
        err.seek(0)
        text = err.read().decode(errors="replace")
        ends.append(Ended(code, text, json.loads(report.read_text()) if report.exists() else None))
    remove_group(group)
    return ends


def people_lines(err):
    """How many lines ddprun wrote for people, below torchrun's block."""
    found = re.search(r"^ddprun: the job (failed|was stopped).*\n(  .*\n)*", err, re.M)
    return len(found[0].splitlines()) if found else 0


def check(case, ddprun):
    """What is wrong, a sentence each; and the reports of all nodes that had to write one."""
    scratch = Path(tempfile.mkdtemp(prefix=f"verdict_{case.name}_"))
    try:
        ends = run_ddprun(case, ddprun, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    nodes = case.numbers("reports") if "reports" in case.labels else range(case.nodes)
    wrong = []
    for node in nodes:
        end = ends[node]
        if end.report is None:
            wrong.append(f"node {node} wrote no report, and ended with {end.code}:\n{end.err[-2000:]}")
            continue
        said = cases.differences(case, end.report, end.code)
        if end.report.get("exit_code") != end.code:
            said.append(f"ended with {end.code}, and the report says {end.report.get('exit_code')}")
        if people_lines(end.err) > REPORT_LINES_MAX:
            said.append(f"{people_lines(end.err)} lines for people")
        if said:
            said.append(json.dumps(end.report, indent=1)[:3000])
            said.append(end.err[-1500:])
        wrong += [f"node {node}: {each}" for each in said]
    return wrong, [ends[node].report for node in nodes]


def under_torchrun(case):
    """What torchrun's report has right."""
    scratch = Path(tempfile.mkdtemp(prefix=f"torchrun_{case.name}_"))
    groups = []

    def wrap(node, words):
        words, group = wrapped(case, node, words, TORCHRUN_MEMORY)
        groups.append(group)
        return words

    try:
        texts = beside_torchrun.run_torchrun(
            case, torch_python(), build(case, scratch), scratch, environment(case, scratch),
            free_port(), wrap)
        return beside_torchrun.best_of(
            [beside_torchrun.right_of_torchrun(case, text) for text in texts])
    finally:
        remove_group(groups[0] if groups else None)
        shutil.rmtree(scratch, ignore_errors=True)


def compare(pool, reports):
    """Prints the table; `reports` are ddprun's, by case."""
    causes = [case for case in reports if "kind" in case.labels]
    rows = []
    for case, torchrun in zip(causes, pool.map(under_torchrun, causes)):
        seen = [report for report in reports[case] if report]
        ddprun = beside_torchrun.best_of([
            beside_torchrun.right_of_ddprun(case, report, cases.own_frame(case, report))
            for report in seen or [{}]])
        rows.append((case, torchrun, ddprun))
    print("\nEach cell: torchrun's report | ddprun's")
    print(beside_torchrun.table(rows), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ddprun")
    parser.add_argument("--torchrun", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    # A shell's job in the background ignores it, and so would ddprun.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.torchrun and not torch_python():
        parser.error("torchrun needs PyTorch: DDPRUN_TORCH_ENV names its environment")
    known = {case.name: case for case in cases.all_cases()}
    chosen = [known[name] for name in options.names] or list(known.values())
    runnable = []
    for case in chosen:
        why = cases.cannot_run(case, torch_python())
        if not why and "memory" in case.labels and not os.access(MEMORY, os.W_OK):
            why = "no memory cgroup can be made here"
        if "clock_ahead" in case.labels and not other_clocks_are_there():
            why = "no clocks of another machine can be made here"
        if why:
            print(f"skipped: {case.name}: {why}")
        else:
            runnable.append(case)
    failed, known, reports = 0, 0, {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [(case, pool.submit(check, case, options.ddprun)) for case in runnable]
        for case, future in futures:
            wrong, reports[case] = future.result()
            if wrong and "known_wrong" in case.labels:
                print(f"known to be wrong: {case.name}: {case.labels['known_wrong']}", flush=True)
                known, wrong = known + 1, []
            elif "known_wrong" in case.labels:
                wrong = ["it is right now: take the label known_wrong out"]
            failed += bool(wrong)
            if wrong:
                print(f"FAILED {case.name}", flush=True)
            for each in wrong:
                print("    " + each.replace("\n", "\n    "))
        right = len(runnable) - failed - known
        print(f"ddprun: {right} of {len(runnable)} right, {known} known to be wrong", flush=True)
        if options.torchrun:
            compare(pool, reports)
    return 1 if failed or not runnable else 0


if __name__ == "__main__":
    sys.exit(main())
