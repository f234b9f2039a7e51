"""The part of `bench sdk` that trains a GPT: worker_sdk/examples/gpt.cpp beside gpt.py."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import DDPRUN, PROJECT

GPT = str(PROJECT / "build" / "gpt")
GPT_PY = str(PROJECT / "worker_sdk" / "examples" / "gpt.py")
WORKERS = 2
WARM_UP = 5  # steps that are not counted
# From where the overhead of calls rules to where the matrices do: 0.1, 0.8 and 10.8 million
# parameters.
SIZES = {"2 layers of 64": ["--layers", "2", "--width", "64", "--batch-size", "4"],
         "4 layers of 128": ["--layers", "4", "--width", "128", "--batch-size", "16"],
         "6 layers of 384": ["--layers", "6", "--heads", "6", "--width", "384", "--context", "128",
                             "--batch-size", "4"]}
OPTIMIZERS = {"DDP": [], "DDP with ZeRO-1": ["--zero"]}
WAYS = {"C++ SDK": ["--no-python", GPT], "Python": [GPT_PY]}


def write_text(path):
    """Words in a random order: the model learns their letters."""
    dice = random.Random(5)
    words = "the of and to in is you that it he was for on are as with his they at be".split()
    path.write_text(" ".join(dice.choice(words) for _ in range(200_000)))


class Run:
    """What one run of WORKERS workers has shown."""

    def __init__(self, program, options, steps, python, folder):
        metrics = folder / "metrics"
        command = [DDPRUN, "--standalone", "--nproc-per-node", str(WORKERS), *program,
                   "--data", str(folder / "text"), "--metrics", str(metrics), "--log-every", "1",
                   "--steps", str(steps + WARM_UP), "--warm-up", "10", *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHON_EXEC": python}
        job = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        # The peak of the biggest process that has ended below it: a worker, in both languages.
        _, status, usage = os.wait4(job.pid, 0)
        job.returncode = os.waitstatus_to_exitcode(status)
        if job.returncode != 0:
            sys.exit(f"bench: {' '.join(command)} ended with {job.returncode}")
        self.peak_mb = usage.ru_maxrss / 1024
        lines = [json.loads(line) for line in metrics.read_text().splitlines()]
        metrics.unlink()
        self.losses = [line["loss"] for line in lines]
        self.seconds_per_token = statistics.median(
            1 / line["tokens_per_second"] for line in lines[WARM_UP:])


def tokens_a_step(options):
    context = int(options[options.index("--context") + 1]) if "--context" in options else 64
    return WORKERS * context * int(options[options.index("--batch-size") + 1])


def compare(title, options, steps, python, rounds, folder):
    runs = {name: [] for name in WAYS}
    for _ in range(rounds):
        for name, program in WAYS.items():
            runs[name].append(Run(program, options, steps, python, folder))
    step_ms = {name: 1000 * tokens_a_step(options) * statistics.median(
        run.seconds_per_token for run in of_way) for name, of_way in runs.items()}
    peak_mb = {name: statistics.median(run.peak_mb for run in of_way)
               for name, of_way in runs.items()}
    worst = max(abs(a - b) for ours, theirs in zip(*runs.values())
                for a, b in zip(ours.losses, theirs.losses, strict=True))
    print(f"step of a GPT with {title}, {WORKERS} workers, medians of {rounds} runs of {steps} steps")
    for name in WAYS:
        ratios = "" if name == "Python" else (
            f"   {step_ms[name] / step_ms['Python']:5.2f} x Python's time"
            f"   {peak_mb[name] / peak_mb['Python']:5.2f} x Python's memory")
        print(f"  {name:12} {step_ms[name]:9.3f} ms {peak_mb[name]:8.0f} MB{ratios}")
    print(f"  greatest difference of a loss {worst:.1e}", flush=True)


def bench_transformer(python, rounds, steps):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "text")
        for size, options in SIZES.items():
            for optimizer, more in OPTIMIZERS.items():
                compare(f"{size}, {optimizer}", [*options, *more], steps, python, rounds, folder)
