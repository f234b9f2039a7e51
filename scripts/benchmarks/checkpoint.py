"""How long a training waits for a checkpoint of 1 GB (a network and Adam's state): asynchronous,
beside one memcpy of the same bytes into memory as warm; synchronous, beside torch.save of the same,
both with fsync and without, to the same file system (that of TMPDIR). torch.save has two ways:
over the file before, which is lost from then on until the new one is whole, and to a new file that
takes the old one's name, so that there always is one, as with ddprun. The second way and ddprun need
fresh memory of the page cache, the first has that of the file that it has just emptied: on machines
where fresh memory is slow (virtual ones whose host takes back what they do not use) that rules, so
the figures come with and without a pause in which it is taken back."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.common import PROJECT, default_torchrun, now

STALL = str(PROJECT / "build" / "checkpoint_stall")
NEEDS = (STALL,)
MEGABYTES = 1000
LAYERS = 24
RUNS_MAX = 7  # each of 1 GB
PAUSE_S = 4  # twice what Linux waits before it hands free pages to the host

# The same state as checkpoint_stall's, in stock PyTorch; answers each line with milliseconds.
TORCH_SAVE = """
import os, sys, time, torch
folder, megabytes, layers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
elements = megabytes * 1_000_000 // 3 // layers // 4
parameters = {f"layer{i}": torch.nn.Parameter(torch.rand(elements)) for i in range(layers)}
optimizer = torch.optim.Adam(parameters.values(), lr=1e-3)
for parameter in parameters.values():
    parameter.grad = torch.ones_like(parameter)
optimizer.step()
optimizer.zero_grad()
for line in sys.stdin:
    state = {"model": {n: p.detach() for n, p in parameters.items()},
             "optimizer": optimizer.state_dict()}
    durability, way = line.split()
    name = f"{folder}/torch.{durability}.{way}"
    start = time.perf_counter()
    with open(name + (".new" if way == "new" else ""), "wb") as file:
        torch.save(state, file)
        if durability == "fsync":
            file.flush()
            os.fsync(file.fileno())
    if way == "new":
        os.replace(name + ".new", name)
    print(1000 * (time.perf_counter() - start), flush=True)
"""


class Server:
    """A process that takes commands, and answers with how long each took, in ms."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **environment})

    def do(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def settle(folder):
    """What was written to the page cache goes to disk, so that nobody waits for another's bytes."""
    for path in Path(folder).rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())


def measure(servers, ways, runs, folder, pause_s):
    """Of each way its median in ms; they take turns."""
    times = {way: [] for way in ways}
    for i in range(runs + 1):  # the first warms the caches
        for way in ways:
            settle(folder)
            time.sleep(pause_s)
            server, what = way
            taken = servers[server].do(what)
            if i > 0:
                times[way].append(taken)
    return {way: statistics.median(values) for way, values in times.items()}


# What each figure is of, ours, theirs.
PAIRS = (("asynchronous, beside memcpy", ("ddprun", "asynchronous"), ("ddprun", "memcpy")),
         ("fsync, beside torch.save to a new file", ("ddprun", "fsync"), ("torch", "fsync new")),
         ("fsync, beside torch.save over the old", ("ddprun", "fsync"), ("torch", "fsync over")),
         ("no fsync, beside torch.save to a new file", ("ddprun", "none"), ("torch", "none new")),
         ("no fsync, beside torch.save over the old", ("ddprun", "none"), ("torch", "none over")))


def bench(arguments):
    runs = min(arguments.runs, RUNS_MAX)
    python = str(Path(arguments.torchrun or default_torchrun()).parent / "python")
    with tempfile.TemporaryDirectory() as folder:
        alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
        servers = {
            "ddprun": Server([STALL, folder, str(MEGABYTES)], **alone),
            "torch": Server([python, "-c", TORCH_SAVE, folder, str(MEGABYTES), str(LAYERS)])}
        ways = list(dict.fromkeys(way for _, *both in PAIRS for way in both))
        for pause_s in (0, PAUSE_S):
            begin = now()
            result = measure(servers, ways, runs, folder, pause_s)
            print(f"a checkpoint of {MEGABYTES} MB to {folder}, {pause_s} s after the one before, "
                  f"medians of {runs} runs in {now() - begin:.0f} s")
            for title, ours, theirs in PAIRS:
                print(f"  {title:42} {result[ours]:8.0f} ms {result[theirs]:8.0f} ms"
                      f"   {result[ours] / result[theirs]:5.2f} x", flush=True)
        for server in servers.values():
            server.close()
