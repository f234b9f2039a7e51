"""Commands in code blocks: how a block is cut into them, and the stage on which they run or are parsed."""

import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

from markdown import PROJECT

DDPRUN = re.compile(r"(?:^|[\s;&|(])(?:\S*/)?ddprun(?=\s|$)")
SECONDS_MAX = 120
# What a scheduler or the caller's own settings would tell ddprun is not the reader's.
FOREIGN = re.compile(r"^(SLURM|OMPI|PMI|PMIX|MPI|FLUX|LSB|JSM|PBS|SM|PET|TORCHELASTIC|DDPRUN)_|"
                     r"^(LOGLEVEL|PYTHON_EXEC|JOB_COMPLETION_INDEX)$")
MADE_UP = Path(__file__).with_name("made_up.py")


def ddprun_calls(script):
    """How many times it calls ddprun; comments, and arguments of our scripts, are no calls."""
    return len(DDPRUN.findall(re.sub(r"(^|\s)#.*|^.*\bscripts/.*", "", script, flags=re.MULTILINE)))


def is_complete(command):
    """Whether a shell would begin to run it, rather than ask for another line."""
    if command.endswith("\\\n"):
        return False
    done = subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True)
    return "unexpected EOF" not in done.stderr and "unexpected end of file" not in done.stderr


def commands(text):
    """The commands of a script, each with the lines on which it goes on."""
    found, command = [], ""
    for line in text.splitlines(keepends=True):
        command += line
        if is_complete(command):
            if command.strip() and not command.lstrip().startswith("#"):
                found.append(command)
            command = ""
    return found + ([command] if command.strip() else [])


def write_checkpoint(folder, step):
    """As the worker SDK does, with a model of no parameters."""
    place = folder / f"checkpoint-{step:012}"
    place.mkdir(parents=True)
    model = (2).to_bytes(8, "little") + b"{}"
    (place / "model.safetensors").write_bytes(model)
    manifest = {"format": "ddprun checkpoint", "version": 1, "step": step, "epoch": 1, "world_size": 2,
                "run_id": "job7", "attempt": 0, "created_unix_ms": 0, "metadata": {},
                "files": [{"name": "model.safetensors", "bytes": len(model),
                           "sha256": hashlib.sha256(model).hexdigest()}]}
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    manifest["manifest_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (place / "manifest.json").write_text(json.dumps(manifest))


class Stage:
    """A folder that looks like the root of the checkout, with the files that readers bring along. It has
    no scripts/: what builds or installs something is not for a test to run."""

    def __init__(self, folder, ddprun):
        self.folder, self.ddprun = Path(folder), Path(ddprun).resolve()
        (self.folder / "docs").symlink_to(PROJECT / "docs")
        (self.folder / "worker_sdk").symlink_to(PROJECT / "worker_sdk")
        (self.folder / "build").symlink_to(self.ddprun.parent)
        (self.folder / "train.py").write_text("print('trained')\n")
        (self.folder / "my").mkdir()
        (self.folder / "my" / "training.py").write_text("print('trained')\n")
        (self.folder / "hosts").write_text("# two large ones and a small one\nh1 slots=8\nh2:8\nh3:2\n")
        write_checkpoint(self.folder / "checkpoints", step=42)
        (self.folder / "secrets").mkdir(mode=0o700)
        self.shims = self.folder / ".made-up"
        self.shims.mkdir()
        for name in ("ddprun", "srun", "mpirun", "flux", "jsrun"):
            (self.shims / name).symlink_to(MADE_UP)
        self.report = self.folder / ".report"

    def environment(self, first_of_path, python=None):
        environment = {k: v for k, v in os.environ.items() if not FOREIGN.search(k)}
        environment["PATH"] = f"{first_of_path}:{self.ddprun.parent}:{environment['PATH']}"
        environment |= {"LC_ALL": "C.UTF-8", "TOKEN": "a variable that the reader has"}
        if python:
            environment["PYTHON_EXEC"] = str(python)
        return environment

    def bash(self, script, environment):
        """(exit code, what it printed on both streams); nothing that it has started is left."""
        process = subprocess.Popen(
            ["bash", "-c", script], cwd=self.folder, env=environment, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            out, _ = process.communicate(timeout=SECONDS_MAX)
            return process.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]

    def parse(self, command):
        """None, or why ddprun would not take the command as it is written."""
        self.report.unlink(missing_ok=True)
        environment = self.environment(self.shims)
        environment |= {"MADE_UP_DDPRUN": str(self.ddprun), "MADE_UP_REPORT": str(self.report),
                        "MADE_UP_PYTHON": sys.executable}
        code, out = self.bash(command, environment)
        calls = [json.loads(line) for line in self.report.read_text().splitlines()] \
            if self.report.exists() else []
        for call in calls:
            if call["code"] != 0 or "has no effect" in call["err"]:
                return call["err"].strip() or f"exit code {call['code']}"
        if len(calls) < ddprun_calls(command):
            return f"ddprun was not reached: {out.strip() or code}"
        return None if code == 0 else f"exit code {code}: {out.strip()}"

    def run(self, script, python=None):
        """The lines that it prints, on both streams."""
        # Somebody else may have the port that the page names.
        script = script.replace("localhost:29400", f"localhost:{free_port()}")
        code, out = self.bash(script, self.environment("/usr/bin", python))
        return out.splitlines() + (["(it did not end)"] if code is None else [])


def free_port():
    """One that Linux gives to nobody who takes any: those are 32768 and more."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as peer:
            if peer.connect_ex(("127.0.0.1", port)) != 0:
                return port


def without_what_varies(line):
    """Times, process ids, ports, names of machines and the like become words."""
    for pattern, word in (
            (r"\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d", "TIME"),
            (r"\b\d+(\.\d+)? %", "PERCENT"),
            (r"\b\d+m[\d.]+s\b|\b\d+(\.\d+)? m?s\b", "TIME"),
            (r"\bpid( *:)? \d+|\(pid: \d+\)", "PID"),
            (r"\bon host \S+?(?=[,)\s])|\bhost +: .*", "HOST"),
            (r"since it worked, .*? before", "since it worked"),
            (r"(?<=\.)[0-9a-f]{8}(?=\.json)", "NUMBER"),
            (r"(?<=none_)\w{6}\b", "ID")):
        line = re.sub(pattern, word, line)
    return line.rstrip()


def difference(shown, printed):
    """None, or in what the lines differ. "..." stands for what is left out; the order does not count."""
    left = [without_what_varies(line) for line in printed]
    leaves_out = False
    for line in filter(None, map(without_what_varies, shown)):
        if line.strip() == "...":
            leaves_out = True
            continue
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        found = next((other for other in left if re.fullmatch(pattern, other)), None)
        if found is None:
            return f"shown, but not printed: {line}"
        left.remove(found)
    extra = [line for line in left if line]
    return f"printed, but not shown: {extra[0]}" if extra and not leaves_out else None

