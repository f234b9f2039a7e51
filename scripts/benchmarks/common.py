"""What the benchmarks share: where things are, how times are taken, how medians are shown."""

import os
import shutil
import statistics
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent.parent
DDPRUN = str(PROJECT / "build" / "ddprun")


def default_torchrun():
    environment = os.environ.get("DDPRUN_TORCH_ENV")
    cache = os.environ.get("DDPRUN_CACHE", str(Path.home() / ".cache" / "ddprun"))
    candidate = Path(environment or f"{cache}/torch-2.11.0") / "bin" / "torchrun"
    return str(candidate) if candidate.exists() else shutil.which("torchrun")


def now():
    """Seconds of CLOCK_MONOTONIC, the clock of ddprun_stamp."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def medians(ways, runs):
    """Of each way its median in ms; they take turns, so that all see the same noise."""
    times = {name: [] for name in ways}
    for i in range(runs + 1):  # the first warms the caches
        for name, (measure, limit) in ways.items():
            if i <= limit:
                times[name].append(1000 * measure())
    return {name: statistics.median(values[1:] or values) for name, values in times.items()}


def show(title, results):
    print(title)
    for name, value in results.items():
        ratios = "".join(f"   {value / other:8.2f} x {peer}" for peer, other in results.items()
                         if peer != name and name == "ddprun")
        print(f"  {name:12} {value:9.1f} ms{ratios}")
