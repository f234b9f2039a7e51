"""Runs jobs under ddprun and keeps what was seen of each."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_S = 300
STOP_S = 60
HERE = Path(__file__).resolve().parent


class Runs:
    """Jobs on this machine. `programs` is the folder of the binaries, `python` a Python with PyTorch;
    `on_gpu`: over NCCL and on GPUs, else over Gloo and on the CPU."""

    def __init__(self, programs, python, about, on_gpu):
        self.programs, self.python, self.about, self.on_gpu = programs, python, about, on_gpu
        self.gpus = len(about["gpus"]) if on_gpu else 0
        self.backend = "nccl" if on_gpu else "gloo"
        libraries = [*about["libraries"], os.environ.get("LD_LIBRARY_PATH", "")]
        # NCCL's own lines would stand between those that are read here.
        ours = {name: value for name, value in os.environ.items() if name != "NCCL_DEBUG"}
        # PyTorch asks for the user's name, which a container may not know.
        self.environment = {"USER": "gpu-check", **ours, "PYTHON_EXEC": python, "OMP_NUM_THREADS": "1",
                            # Tests have tensors on the CPU, too: monitored_barrier() needs Gloo.
                            "DDPRUN_TEST_BACKEND": "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
                            "LD_LIBRARY_PATH": ":".join(filter(None, libraries))}
        self.seen = []

    def program(self, name):
        return ["--no-python", self.programs / name]

    def on_one_gpu(self, name, *arguments):
        """A program all of whose ranks use the first GPU, which NCCL refuses unless it is misled."""
        if not self.on_gpu:
            return [*self.program(name), *arguments]
        return ["--no-python", HERE / "one_gpu.sh", self.programs / name, *arguments]

    def python_on_one_gpu(self, script):
        return ["--no-python", HERE / "one_gpu.sh", self.python, script] if self.on_gpu else [script]

    def note(self, what, passed, **facts):
        """Keeps what was seen, and says it."""
        entry = {"what": what, "passed": passed, **facts}
        self.seen.append(entry)
        error = "" if passed else ": " + str(facts.get("error", facts))
        print(f"gpu-check: {'passed' if passed else 'FAILED'}: {what}{error}", flush=True)
        return entry

    def leave_out(self, what, why):
        self.seen.append({"what": what, "passed": None, "why": why})
        print(f"gpu-check: left out: {what}: {why}", flush=True)

    def run(self, what, options, program, judge=lambda out, err: {}, code=0, **environment):
        """Runs a job that ends with `code`; `judge` makes facts of its output, or raises ValueError."""
        command = [str(self.programs / "ddprun"), "--standalone", *map(str, options),
                   *map(str, program)]
        start = time.monotonic()
        facts = {"command": " ".join(command)}
        try:
            code_seen, out, err = self.to_its_end(command, {**self.environment, **environment}, facts)
            facts["seconds"] = round(time.monotonic() - start, 1)
            if code_seen != code:
                raise ValueError(f"exit code {code_seen}, expected {code}:\n{out[-3000:]}{err[-3000:]}")
            facts.update(judge(out, err))
        except Exception as error:  # whatever a job has printed: the other checks go on
            return self.note(what, False, **facts, error=f"{type(error).__name__}: {error}")
        return self.note(what, True, **facts)

    def to_its_end(self, command, environment, facts):
        """(exit code, output, errors). A job that does not end is asked what its workers do, and stopped."""
        with subprocess.Popen(command, env=environment, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            try:
                out, err = job.communicate(timeout=LIMIT_S)
                return job.returncode, out, err
            except subprocess.TimeoutExpired:
                facts["dump"] = self.dump(job.pid)
                job.terminate()
                try:
                    out, err = job.communicate(timeout=STOP_S)
                except subprocess.TimeoutExpired:
                    job.kill()
                    # A worker that is stuck in the driver may keep the pipe for ever.
                    out, err = job.communicate(timeout=STOP_S)
        raise ValueError(f"not ended after {LIMIT_S} s:\n{out[-3000:]}{err[-3000:]}")

    def output_of(self, command):
        """Of a program that ends well."""
        return subprocess.run([*map(str, command)], env=self.environment, text=True, check=True, timeout=LIMIT_S,
                              stdout=subprocess.PIPE).stdout

    def dump(self, pid):
        try:
            return subprocess.run([self.programs / "ddprun", "dump", str(pid)], env=self.environment,
                                  text=True, errors="replace", timeout=STOP_S, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT).stdout
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)

    def run_and_report(self, what, options, program, judge, code):
        """The same, for a job that fails: `judge` gets its report (--report-file), and its output."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            return self.run(what, [*options, "--report-file", report], program,
                            lambda out, err: judge(json.loads(report.read_text()), out + err), code)


def expect(condition, otherwise):
    if not condition:
        raise ValueError(otherwise)


def last_json(output):
    """The last line that is JSON: libraries write lines of their own."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise ValueError(f"no JSON in: {output[-1000:]}")


def print_table(seen, file=sys.stdout):
    width = max(len(entry["what"]) for entry in seen)
    for entry in seen:
        state = {True: "passed", False: "FAILED", None: "-"}[entry["passed"]]
        words = [f"{name} {entry[name]}" for name in (
            "step_ms", "python_step_ms", "step_ratio", "tokens_per_second", "tflops_per_device", "peak_percent",
            "difference", "accuracy_percent", "said", "why") if name in entry]
        if entry["passed"] is False:
            words.append(str(entry.get("error", "")).strip().split("\n")[0][:120])
        seconds = f"{entry['seconds']:6.1f} s" if "seconds" in entry else " " * 8
        print(f"{entry['what']:<{width}}  {state:<6}  {seconds}  {', '.join(words)}".rstrip(), file=file)
