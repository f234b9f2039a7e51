"""Stock PyTorch DDP with and without --warm, beside torchrun: from the command to the first optimizer
step of 2 and of 8 workers; from a worker's death to the first step of the next attempt, again and
again; from a node's death to the first step of the rest, on three hosts (root only); and the memory of
8 workers."""

import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.common import DDPRUN, PROJECT, default_torchrun, now, show

HERE = PROJECT / "scripts" / "benchmarks"
STEP = str(HERE / "first_step.py")
NEEDS = (DDPRUN,)
RESTARTS = 20
ROUNDS = 3  # everything takes turns
TIMEOUT_S = 60


def python(torchrun):
    return str(Path(torchrun).with_name("python"))


def environment(torchrun):
    return os.environ | {"PYTHON_EXEC": python(torchrun), "OMP_NUM_THREADS": "1"}


def lines(text, what):
    """(attempt, workers, seconds) of each line `what ...`."""
    found = re.findall(rf"^{what} (\d+) (\d+) ([\d.]+)$", text, re.MULTILINE)
    return [(int(attempt), int(workers), float(at)) for attempt, workers, at in found]


def run(launcher, workers, deaths, torchrun):
    """When it began, and what the workers wrote; torchrun may get stuck on the way."""
    command = [*launcher, "--standalone", "--nproc-per-node", str(workers), "--max-restarts",
               str(deaths), STEP, str(deaths)]
    begin = now()
    with subprocess.Popen(command, env=environment(torchrun), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as job:
        try:
            return begin, job.communicate(timeout=TIMEOUT_S)[0]
        except subprocess.TimeoutExpired:
            job.terminate()
            return begin, job.communicate()[0]


def first_step(launcher, workers, torchrun):
    begin, output = run(launcher, workers, 0, torchrun)
    steps = lines(output, "step")
    assert len(steps) == workers, output
    return max(at for _, _, at in steps) - begin


def restarts(launcher, deaths, torchrun):
    """Seconds from each death to the last worker's step in the next attempt."""
    output = run(launcher, 2, deaths, torchrun)[1]
    steps, died = lines(output, "step"), lines(output, "death")
    times = []
    for attempt, _, at in died:
        after = [step for next_attempt, _, step in steps if next_attempt == attempt + 1]
        if len(after) == 2:
            times.append(max(after) - at)
    return times


def node_lost(script, arguments, how, variables):
    """Seconds from the loss of one of three nodes, which `script` tells with the word `how`, to the step of the
    others; None without hosts."""
    done = subprocess.run(["bash", str(HERE / script), DDPRUN, *arguments], env=variables, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        print("  " + done.stdout.strip().splitlines()[-1])
        return None
    lost = float(re.search(rf"^{how} ([\d.]+)$", done.stdout, re.MULTILINE)[1])
    return max(at for _, workers, at in lines(done.stdout, "step") if workers == 2) - lost


def imports(code, torchrun):
    begin = now()
    subprocess.run([python(torchrun), "-c", code], check=True)
    return now() - begin


def memory_mb(launcher, workers, torchrun):
    """Of all processes of the job, once all workers have made a step: the sum of what is their own and
    their shares of the rest (Pss), and of what each seems to have (Rss)."""
    with tempfile.TemporaryFile("w+") as output:
        command = [*launcher, "--standalone", "--nproc-per-node", str(workers), STEP, "0", "wait"]
        job = subprocess.Popen(command, env=environment(torchrun), stdout=output,
                               stderr=subprocess.DEVNULL)
        deadline = now() + TIMEOUT_S
        text = ""
        while len(lines(text, "step")) < workers and now() < deadline:
            time.sleep(0.1)
            output.seek(0)
            text = output.read()
        mark = re.search(rb"DDPRUN_JOB=[^\0]+", newest_environment(job.pid))[0]
        sizes = [rollup(p) for p in Path("/proc").glob("[0-9]*") if mark in environ_of(p)]
        job.terminate()
        job.wait()
    return [sum(size[kind] for size in sizes) / 1024 for kind in ("Pss", "Rss")]


def newest_environment(pid):
    children = subprocess.run(["pgrep", "-P", str(pid), "-f", "first_step"], capture_output=True,
                              text=True).stdout.split()
    return environ_of(Path("/proc") / children[-1])


def environ_of(process):
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def rollup(process):
    text = (process / "smaps_rollup").read_text()
    return {kind: int(re.search(rf"^{kind}:\s+(\d+) kB", text, re.MULTILINE)[1])
            for kind in ("Pss", "Rss")}


def take_turns(ways, rounds=ROUNDS):
    """The median in ms of each."""
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, measure in ways.items():
            times[name].append(1000 * measure())
    return {name: statistics.median(values) for name, values in times.items()}


def show_restarts(launchers, torchrun):
    print(f"a worker's death -> first step of both workers of the next attempt, {RESTARTS} in a row")
    for name, launcher in launchers.items():
        deaths = RESTARTS if name.endswith("--warm") else 3
        times = restarts(launcher, deaths, torchrun)
        if times:
            print(f"  {name:15} {1000 * statistics.median(times):9.1f} ms median,"
                  f" {1000 * max(times):.1f} ms at most; {len(times)} of {deaths} succeeded")
        else:
            print(f"  {name:15} 0 of {deaths} succeeded")


def bench(arguments):
    torchrun = arguments.torchrun or default_torchrun()
    launchers = {"torchrun": [torchrun], "ddprun": [DDPRUN], "ddprun --warm": [DDPRUN, "--warm"]}
    show("the imports themselves, by one process", take_turns({
        "import torch": lambda: imports("import torch", torchrun),
        "and optimizer": lambda: imports("import torch._dynamo", torchrun)}))
    for workers in (2, 8):
        ways = {name: (lambda launcher=launcher: first_step(launcher, workers, torchrun))
                for name, launcher in launchers.items()}
        show(f"command -> first optimizer step of the last of {workers} workers", take_turns(ways))
    show_restarts(launchers, torchrun)
    print("a node's death -> first step of the other two of three")
    for name, options in (("ddprun", []), ("ddprun --warm", ["--warm"])):
        times = [node_lost("warm_nodes.sh", [STEP, *options], "killed", environment(torchrun)) for _ in range(ROUNDS)]
        if None not in times:
            print(f"  {name:15} {1000 * statistics.median(times):9.1f} ms")
    print("memory of 8 workers and what started them")
    for name in ("ddprun", "ddprun --warm"):
        pss, rss = memory_mb(launchers[name], 8, torchrun)
        print(f"  {name:15} {pss:9.0f} MB, each counted alone {rss:.0f} MB")
