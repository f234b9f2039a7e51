"""How long a DDP training step takes with the C++ SDK and with Python's DDP
(gradient_as_bucket_view=True): 2 workers over Gloo under ddprun, one thread each, the same network,
batches of 16 rows a worker, SGD with momentum and Adam. Three sizes: 50,826 parameters, where the
overhead of calls rules, 2,634,762 and 21,020,682. Both take turns; a run's figure is the median of
its steps. The losses are compared, too. Before it, what a call of Heartbeat::beat() costs. After it,
the same of a transformer, gpt.cpp and gpt.py, in three sizes, with DDP alone and with the optimizer's
state spread over the workers; and the peak of a worker's memory."""

import json
import os
import statistics
import subprocess
import sys

from benchmarks.common import DDPRUN, PROJECT
from benchmarks.transformer import GPT, bench_transformer

DDP_STEPS = str(PROJECT / "build" / "ddp_steps")
HEARTBEAT_COST = str(PROJECT / "build" / "heartbeat_cost")
NEEDS = (DDPRUN, DDP_STEPS, HEARTBEAT_COST, GPT)
WORKERS = 2
STEPS = {"small": 500, "medium": 100, "large": 25}  # about as long a run each
WARM_UP = 5


def measure(program, model, optimizer, python):
    """(median step in ms, the losses) of one run."""
    command = [DDPRUN, "--standalone", "--nproc-per-node", str(WORKERS), *program, "--backend", "gloo",
               "--model", model, "--optimizer", optimizer, "--steps", str(STEPS[model] + WARM_UP),
               "--warm-up", str(WARM_UP)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHON_EXEC": python}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(run.stdout)
    return statistics.median(result["step_ms"]), result["losses"]


def compare(ways, model, optimizer, python, rounds):
    times = {name: [] for name in ways}
    losses = {}
    for _ in range(rounds):
        for name, program in ways.items():
            median, losses[name] = measure(program, model, optimizer, python)
            times[name].append(median)
    worst = max(abs(a - b) for a, b in zip(*losses.values()))
    return {name: statistics.median(values) for name, values in times.items()}, worst


def show_heartbeat_cost():
    command = [DDPRUN, "--standalone", "--nproc-per-node", "1", "--no-python", HEARTBEAT_COST]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    cost = json.loads(run.stdout)
    print(f"Heartbeat::beat(): {cost['median_ns']:.0f} ns a call, the median of 11 rounds of a million; "
          f"the slowest round {cost['greatest_ns']:.0f} ns", flush=True)


def add_options(parser):
    parser.add_argument("--gpt-only", action="store_true", help="of sdk, the transformer alone")
    parser.add_argument("--gpt-steps", type=int, default=30, help="of each run of the transformer")


def bench(arguments):
    if not arguments.torchrun:
        sys.exit("bench: there is no PyTorch to compare with: run scripts/setup first")
    python = str(PROJECT / arguments.torchrun).removesuffix("torchrun") + "python"
    rounds = max(3, arguments.runs // 5)
    if not arguments.gpt_only:
        show_heartbeat_cost()
        bench_networks(python, rounds)
    bench_transformer(python, rounds, arguments.gpt_steps)


def bench_networks(python, rounds):
    ways = {"C++ SDK": ["--no-python", DDP_STEPS],
            "Python": [str(PROJECT / "tests" / "worker_sdk" / "ddp_steps.py")]}
    for optimizer in ("sgd", "adam"):
        for model in STEPS:
            medians, worst = compare(ways, model, optimizer, python, rounds)
            sdk, stock = medians.values()
            print(f"step of the {model} model with {optimizer}, {WORKERS} workers, medians of {rounds} runs")
            print(f"  C++ SDK      {sdk:9.3f} ms   {sdk / stock:5.2f} x Python\n"
                  f"  Python       {stock:9.3f} ms   greatest difference of a loss {worst:.1e}",
                  flush=True)
