"""Runs one command line in a fresh scratch folder and collects what can be seen of it."""

import itertools
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"
TIMEOUT = 300  # a worker of --run-path imports torch itself, which takes a busy machine a minute
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
JOB_FOLDER = re.compile(r"(^|/)(job|none|{fresh id})_\w+(?=/)")  # <run_id>_<random>

numbers = itertools.count()
ports_lock = threading.Lock()
ports_given = set()


@dataclass
class Run:
    exit_code: object  # a text when it did not end in time
    stdout: list  # lines
    stderr: list
    workers: dict  # the dump of each, by attempt and rank
    logs: dict  # the lines of each log file
    leftovers: list  # processes and files
    port: int


def free_port():
    """One that nobody else in this process was given, nor anybody who takes any: Linux gives them 32768 or more."""
    with ports_lock:
        while True:
            port = random.randrange(20000, 32000)
            with socket.socket() as probe:
                in_use = probe.connect_ex(("127.0.0.1", port)) == 0
            if not in_use and port not in ports_given:
                ports_given.add(port)
                return port


def normalised(text, scratch):
    text = text.replace(str(scratch), "{scratch}").replace(str(PROGRAMS), "{programs}")
    text = UUID.sub("{fresh id}", text)
    return JOB_FOLDER.sub(r"\1\2_{random}", text)


def start(words, **how):
    with open(how["out"], "wb") as out, open(how["err"], "wb") as err:
        return subprocess.Popen(words, env=how["environment"], cwd=how["folder"], stdin=subprocess.DEVNULL,
                                stdout=out, stderr=err, start_new_session=True)


def base_environment(search_path):
    return {
        "PATH": f"{search_path}:/usr/local/bin:/usr/bin:/bin",
        "HOME": os.environ.get("HOME", "/"),
        "LANG": "C.UTF-8",
    }


def run(command, row, search_path, start=start):
    """`start` begins the process: with words, environment, folder, and the files out and err."""
    scratch = Path(tempfile.mkdtemp(prefix="compat_"))
    try:
        return run_in(scratch, command, row, search_path, start)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run_in(scratch, command, row, search_path, start):
    for folder in ["tmp", "dumps", "work"]:
        (scratch / folder).mkdir()
    for fifo in ["ready", "meeting"]:
        os.mkfifo(scratch / fifo)
    port = free_port() if row.uses_port() else 0
    places = {"{programs}": PROGRAMS, "{scratch}": scratch, "{logs}": scratch / "logs", "{port}": port}

    def placed(text):
        for name, value in places.items():
            text = text.replace(name, str(value))
        return text

    marker = f"{os.getpid()}.{next(numbers)}"
    environment = base_environment(search_path) | {
        "TMPDIR": str(scratch / "tmp"),
        "COMPAT_RUN": marker,
        "COMPAT_DUMPS": str(scratch / "dumps"),
        "COMPAT_READY": str(scratch / "ready"),
        "COMPAT_MEETING": str(scratch / "meeting"),
    } | {name: placed(value) for name, value in row.environment.items()}
    ready = os.open(scratch / "ready", os.O_RDWR | os.O_NONBLOCK)
    for stream in ["out", "err"]:
        (scratch / stream).touch()
    process = start(
        command + [placed(argument) for argument in row.arguments], environment=environment,
        folder=str(scratch / "work"), out=str(scratch / "out"), err=str(scratch / "err"))
    deadline = time.monotonic() + TIMEOUT
    if row.signal and workers_ready(ready, row.ready, process, deadline):
        process.send_signal(signal.Signals[row.signal])
    try:
        exit_code = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        exit_code = f"no end within {TIMEOUT} s"
    left = processes_of(marker)
    kill([process.pid] if process.returncode is None else [], left)
    process.wait()
    os.close(ready)
    return Run(exit_code, lines_of(scratch / "out", scratch), lines_of(scratch / "err", scratch),
               dumps_in(scratch), logs_in(scratch), processes(left) + files_left(scratch), port)


def workers_ready(ready, wanted, process, deadline):
    """Each writes a line when it waits for its signal."""
    seen = 0
    while seen < wanted and process.poll() is None and time.monotonic() < deadline:
        if select.select([ready], [], [], 0.2)[0]:
            seen += os.read(ready, 4096).count(b"\n")
    return seen == wanted


def processes_of(marker):
    """The commands of all processes that have the marker in their environment, by pid."""
    wanted = f"COMPAT_RUN={marker}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = command.decode(errors="replace").strip()
        except OSError:
            pass  # it has ended, or belongs to somebody else
    return found


def processes(left):
    return [f"process {command}" for command in left.values()]


def kill(groups, pids):
    for target, pid in [(os.killpg, g) for g in groups] + [(os.kill, p) for p in pids]:
        try:
            target(pid, signal.SIGKILL)
        except OSError:
            pass


def lines_of(path, scratch):
    return normalised(path.read_text(errors="replace"), scratch).splitlines()


def dumps_in(scratch):
    return {path.name: json.loads(normalised(path.read_text(), scratch))
            for path in (scratch / "dumps").iterdir()}


def logs_in(scratch):
    found = {}
    for path in (scratch / "logs").rglob("*"):
        if path.is_file():
            name = normalised(str(path.relative_to(scratch / "logs")), scratch)
            found[name] = ["(recorded)"] if path.name == "error.json" else lines_of(path, scratch)
    return found


def files_left(scratch):
    return [str(path.relative_to(scratch)) for folder in ["tmp", "work"]
            for path in (scratch / folder).rglob("*")]
