"""An elastic loop in Python and C++ on CPUs, of which a part is lost, and the others keep their processes: from the
death of one of 4 workers to the next step of the others, and of all four, beside a restart of all workers, by
torchrun, too; what an update costs beside its block; and on hosts (root only) from the loss of a node to the others'
next step, and how long they pause where one joins. With --torchft PYTHON also three replica groups of torchft, each
under a torchrun of its own; PYTHON is that of an environment that has `pip install torch==2.11.0 torchft==0.2.0`."""

import os
import re
import statistics
import subprocess

from benchmarks import torchft_peer
from benchmarks.common import DDPRUN, PROJECT
from benchmarks.warm import TIMEOUT_S, environment, lines

HERE = PROJECT / "scripts" / "benchmarks"
STEP = str(HERE / "elastic_step.py")
STOCK_STEP = str(HERE / "first_step.py")  # for torchrun: the same model and step, in stock DDP
CPP_STEP = str(PROJECT / "build" / "elastic_step")
NEEDS = (DDPRUN, CPP_STEP)
WAYS = (  # the program, its options, and how many die
    ("Python", "--warm=torch._dynamo", 50), ("Python", "", 5), ("C++", "", 50),
    ("Python", "--warm=torch._dynamo --no-in-place", 10), ("Python", "--no-in-place", 3), ("C++", "--no-in-place", 10))
NODES = (  # Each says what happens, to which hosts, of how many, and how often it is measured.
    ("killed", "h3", 3, 5), ("killed", "h1", 3, 5), ("killed", "h3,h4", 4, 5), ("frozen", "h3", 3, 3),
    ("frozen", "h1", 3, 3), ("cut", "h3", 3, 3), ("cut", "h1", 3, 3), ("joined", "h3", 3, 5))
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


def node_changes(how, hosts, nodes, variables):
    """By a word: seconds from what happens to the others' next step (`killed`, for example), from `back` to the first
    step of all nodes, and how long the others `pause`. Empty without hosts."""
    command = ["bash", str(HERE / "elastic_nodes.sh"), DDPRUN, STEP, str(nodes), hosts, how]
    done = subprocess.run(command, env=variables | {"seconds_left": str(2 * TIMEOUT_S)}, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        print("  " + done.stdout.strip().splitlines()[-1])
        return {}
    marks = {word: float(at) for word, at in re.findall(r"^(\w+) ([\d.]+)$", done.stdout, re.MULTILINE)}
    after = nodes if how == "joined" else nodes - len(hosts.split(","))
    steps = lines(done.stdout, "step")
    times = {how: max(at for _, of, at in steps if of == after) - marks[how],
             "pause": max(seconds for _, of, seconds in lines(done.stdout, "pause") if of == after)}
    if "back" in marks:
        times["back"] = max(at for _, of, at in steps if of == nodes) - marks["back"]
    return times


def bench_nodes(variables):
    print("change of nodes, of which h1 coordinates -> next step of those that stay")
    for how, hosts, nodes, rounds in NODES:
        runs = [node_changes(how, hosts, nodes, variables) for _ in range(rounds)]
        for word in sorted({word for run in runs for word in run}):
            told(f"{hosts} of {nodes}: {word}", [run[word] for run in runs if word in run])


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
    bench_nodes(with_module(arguments.torchrun))
