"""An elastic loop in Python and C++ on CPUs, of which a part is lost, and the others keep their processes: from the
death of one of 3 workers to the last worker's next step, beside all workers started anew; and on three hosts
(root only) from the loss of a node to the others' next step."""

import os
import statistics
import subprocess

from benchmarks.common import DDPRUN, PROJECT
from benchmarks.warm import TIMEOUT_S, environment, lines, node_lost

HERE = PROJECT / "scripts" / "benchmarks"
STEP = str(HERE / "elastic_step.py")
CPP_STEP = str(PROJECT / "build" / "elastic_step")
NEEDS = (DDPRUN, CPP_STEP)
WAYS = (  # the program, its options, and how many die
    ("Python", "--warm=torch._dynamo", 20), ("Python", "", 5), ("C++", "", 20),
    ("Python", "--warm=torch._dynamo --no-in-place", 10), ("Python", "--no-in-place", 3), ("C++", "--no-in-place", 10))


def with_module(torchrun):
    return environment(torchrun) | {"PYTHONPATH": str(PROJECT / "worker_sdk" / "python")}


def worker_killed(language, options, deaths, torchrun):
    """Seconds from each death to the last worker's step in the next attempt."""
    program = [STEP] if language == "Python" else ["--no-python", CPP_STEP]
    command = [DDPRUN, *options.split(), "--standalone", "--nproc-per-node", "3", "--max-restarts", str(deaths),
               *program, str(deaths)]
    output = subprocess.run(command, env=with_module(torchrun), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, timeout=10 * TIMEOUT_S).stdout
    steps = lines(output, "step")
    after = [(at, [step for attempt, _, step in steps if attempt == died + 1]) for died, _, at in lines(output, "death")]
    return [max(next_steps) - at for at, next_steps in after if len(next_steps) == 3]


def told(name, times):
    print(f"  {name:44} {1000 * statistics.median(times):9.1f} ms median, {1000 * max(times):.1f} ms at most,"
          f" of {len(times)}")


def bench(arguments):
    print("death of one of 3 workers -> next step of all 3")
    for language, options, deaths in WAYS:
        times = worker_killed(language, options, deaths, arguments.torchrun)
        told(f"{language} {options}", times)
    if os.geteuid() != 0:
        return
    print("loss of one of 3 nodes -> next step of the other 2")
    for name, host, how in (("killed", "h3", "killed"), ("killed, it coordinates", "h1", "killed"),
                            ("frozen", "h3", "frozen"), ("frozen, it coordinates", "h1", "frozen")):
        times = [node_lost("elastic_nodes.sh", [STEP, host, how], how, with_module(arguments.torchrun), 2 * TIMEOUT_S)
                 for _ in range(3 if how == "frozen" else 5)]
        if None not in times:
            told(name, times)
