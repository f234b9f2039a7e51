"""An elastic loop in Python and C++ on CPUs, of which a part is lost, and the others keep their processes: from the
death of one of 4 workers to the next step of the others, and of all four, beside all workers started anew, by
torchrun, too; what an update costs beside its block; and on three hosts (root only) from the loss of a node to the
others' next step. With --torchft PYTHON also three replica groups of torchft, each under a torchrun of its own; PYTHON
is that of an environment that has `pip install torch==2.11.0 torchft==0.2.0`."""

import os
import statistics
import subprocess

from benchmarks import torchft_peer
from benchmarks.common import DDPRUN, PROJECT
from benchmarks.warm import TIMEOUT_S, environment, lines, node_lost

HERE = PROJECT / "scripts" / "benchmarks"
STEP = str(HERE / "elastic_step.py")
STOCK_STEP = str(HERE / "first_step.py")  # for torchrun: the same model and step, in stock DDP
CPP_STEP = str(PROJECT / "build" / "elastic_step")
NEEDS = (DDPRUN, CPP_STEP)
WAYS = (  # the program, its options, and how many die
    ("Python", "--warm=torch._dynamo", 50), ("Python", "", 5), ("C++", "", 50),
    ("Python", "--warm=torch._dynamo --no-in-place", 10), ("Python", "--no-in-place", 3), ("C++", "--no-in-place", 10))
WORKERS = 4
TORCHRUN_DEATHS = 5
# Without it torchrun 2.11 got stuck here after the first death: the new workers were refused a connection.
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def add_options(parser):
    parser.add_argument("--torchft", metavar="PYTHON", help="in_place: a Python that has torchft, to measure it, too")


def with_module(torchrun):
    return environment(torchrun) | {"PYTHONPATH": str(PROJECT / "worker_sdk" / "python")}


def steps_after_deaths(output, workers):
    """Seconds from each death to the next step of the others, and of all workers."""
    steps = lines(output, "step")
    deaths = lines(output, "death")

    def first_of(size):
        after = [(at, [step for attempt, of, step in steps if (attempt, of) == (died + 1, size)])
                 for died, _, at in deaths]
        return [max(next_steps) - at for at, next_steps in after if len(next_steps) == size]

    return first_of(workers - 1), first_of(workers)


def worker_killed(language, options, deaths, torchrun):
    program = [STEP] if language == "Python" else ["--no-python", CPP_STEP]
    command = [DDPRUN, *options.split(), "--standalone", "--nproc-per-node", str(WORKERS), "--max-restarts",
               str(deaths), *program, str(deaths), str(WORKERS)]
    output = subprocess.run(command, env=with_module(torchrun), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True, timeout=10 * TIMEOUT_S).stdout
    return *steps_after_deaths(output, WORKERS), [seconds for _, _, seconds in lines(output, "update")]


def torchrun_restarts(torchrun):
    """Times as those of worker_killed(). SIGTERM ends a torchrun that is stuck, because it then ends its workers."""
    command = ["timeout", "--kill-after=40", str(2 * TIMEOUT_S), torchrun, "--standalone", "--nproc-per-node",
               str(WORKERS), "--max-restarts", str(TORCHRUN_DEATHS), STOCK_STEP, str(TORCHRUN_DEATHS)]
    done = subprocess.run(command, env=environment(torchrun) | OWN_STORE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=3 * TIMEOUT_S)
    return steps_after_deaths(done.stdout, WORKERS)[1]


def told(name, times):
    if not times:
        print(f"  {name:44} has made no such step")
        return
    print(f"  {name:44} {1000 * statistics.median(times):9.1f} ms median, {1000 * max(times):.1f} ms at most,"
          f" of {len(times)}")


def bench_torchft(python):
    for setting, times in torchft_peer.SETTINGS.items():
        results = torchft_peer.worker_killed(python, times)
        told(f"torchft, {setting}: the other 2", [others for others, _ in results])
        told(f"torchft, {setting}", [everybody for _, everybody in results])


def bench(arguments):
    print(f"death of one of {WORKERS} workers -> next step of all {WORKERS}, or of the others")
    for language, options, deaths in WAYS:
        others, everybody, updates = worker_killed(language, options, deaths, arguments.torchrun)
        if "--no-in-place" not in options:
            told(f"{language} {options}: the other {WORKERS - 1}", others)
            for seconds in updates:
                print(f"  {language} {options}: an update costs {1e6 * seconds:.0f} us beside its block")
        told(f"{language} {options}", everybody)
    if arguments.torchrun:
        told("Python, stock, by torchrun", torchrun_restarts(arguments.torchrun))
    if arguments.torchft:
        bench_torchft(arguments.torchft)
    if os.geteuid() != 0:
        return
    print("loss of one of 3 nodes -> next step of the other 2")
    for name, host, how in (("killed", "h3", "killed"), ("killed, it coordinates", "h1", "killed"),
                            ("frozen", "h3", "frozen"), ("frozen, it coordinates", "h1", "frozen")):
        times = [node_lost("elastic_nodes.sh", [STEP, host, how], how, with_module(arguments.torchrun), 2 * TIMEOUT_S)
                 for _ in range(3 if how == "frozen" else 5)]
        if None not in times:
            told(name, times)
