"""How long it takes from the command to the last worker's first instruction (2 and 64 workers), and
from a worker's death to the first instruction of all 4 workers of the next attempt; 1,000 workers on
one node; peak memory. Beside it torchrun, and a bare loop of posix_spawn as the floor."""

import os
import re
import signal
import subprocess
from pathlib import Path

from benchmarks.common import DDPRUN, PROJECT, medians, now, show

STAMP = str(PROJECT / "build" / "ddprun_stamp")
TORCHRUN_RUNS = 3
NEEDS = (DDPRUN, STAMP)


def command(launcher, workers, *options):
    return [launcher, "--standalone", "--nproc-per-node", str(workers), *options, "--no-python"]


def stamps(arguments):
    """The times that the workers print, in seconds of CLOCK_MONOTONIC."""
    run = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return [float(line) for line in run.stdout.split()]


def start_by_launcher(launcher, workers):
    start = now()
    times = stamps(command(launcher, workers) + [STAMP])
    assert len(times) == workers
    return max(times) - start


def start_by_spawn(workers):
    read_end, write_end = os.pipe()
    to_pipe = [(os.POSIX_SPAWN_DUP2, write_end, 1)]
    start = now()
    pids = [os.posix_spawn(STAMP, ["stamp"], os.environ, file_actions=to_pipe) for _ in range(workers)]
    for pid in pids:
        os.waitpid(pid, 0)
    os.close(write_end)
    with os.fdopen(read_end) as output:
        return max(float(line) for line in output) - start


def restart(launcher):
    times = stamps(command(launcher, 4, "--max-restarts", "1") + [STAMP, "restart"])
    assert len(times) == 5
    return max(times) - min(times)


def peak_memory_mb(launcher):
    """The launcher's VmHWM, as its workers read it while they run."""
    read = ["sh", "-c", "grep VmHWM /proc/$PPID/status"]
    output = subprocess.run(command(launcher, 2) + read, check=True, capture_output=True, text=True)
    return max(int(kib) for kib in re.findall(r"VmHWM:\s+(\d+) kB", output.stdout)) / 1024


def start_and_stop_many(workers):
    """Seconds until all run, and from SIGTERM until ddprun has ended; its peak memory."""
    say = ["sh", "-c", "echo; exec sleep 1000"]
    start = now()
    process = subprocess.Popen(command(DDPRUN, workers) + say, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    for _ in range(workers):
        process.stdout.readline()
    running = now()
    status = Path(f"/proc/{process.pid}/status").read_text()
    process.send_signal(signal.SIGTERM)
    code = process.wait()
    assert code == 128 + signal.SIGTERM, f"exit code {code}"
    memory = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
    return running - start, now() - running, memory


def bench(arguments):
    for workers in (2, 64):
        ways = {"posix_spawn": (lambda: start_by_spawn(workers), arguments.runs),
                "ddprun": (lambda: start_by_launcher(DDPRUN, workers), arguments.runs)}
        if arguments.torchrun:
            ways["torchrun"] = (lambda: start_by_launcher(arguments.torchrun, workers), TORCHRUN_RUNS)
        show(f"command -> first instruction of the last of {workers} workers",
             medians(ways, arguments.runs))
    ways = {"ddprun": (lambda: restart(DDPRUN), arguments.runs)}
    if arguments.torchrun:
        ways["torchrun"] = (lambda: restart(arguments.torchrun), TORCHRUN_RUNS)
    show("a worker's death -> first instruction of all 4 of the next attempt",
         medians(ways, arguments.runs))
    running, stopped, memory = start_and_stop_many(1000)
    print("1,000 workers of sleep\n"
          f"  ddprun       all run after {1000 * running:.0f} ms, all stopped after {1000 * stopped:.0f} ms;"
          f" {memory:.1f} MB")
    print("peak memory, 2 workers")
    for launcher in filter(None, (DDPRUN, arguments.torchrun)):
        print(f"  {Path(launcher).name:12} {peak_memory_mb(launcher):9.1f} MB")
