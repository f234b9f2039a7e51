"""How many small requests torch's store server and ours answer in a second, at what p50 and p99, and
what each costs its server in CPU time, at 1, 16, 64 and 512 connections; how long it takes from a SET
to the last of 1,000 clients that wait for it. Both servers run at the same time and take turns under
the same load (ddprun_store_load); names are looked up in files alone, which needs root. With --mute-dns
the name server does not answer, as in a cluster with a broken one. Last, the workers of 8 nodes, 64 each
(ddprun_store_meeting), meet in their job's store: with --store leader and with --store local."""

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from benchmarks.common import DDPRUN, PROJECT

LOAD = str(PROJECT / "build" / "ddprun_store_load")
MEETING = str(PROJECT / "build" / "ddprun_store_meeting")
TORCH_STORE = Path(__file__).with_name("torch_store.py")
NEEDS = (DDPRUN, LOAD, MEETING)
CONNECTIONS = (1, 16, 64, 512)
SECONDS = 0.5
RUNS_MAX = 9
WAITERS = 1000
NODES = 8
WORKERS = 64  # on each node
MUTE_DNS = "127.0.0.153"

# In name spaces of its own a command sees these files instead of the machine's.
ISOLATED = """
mount --make-rprivate / && ip link set lo up
mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
mount --bind "$1/resolv.conf" /etc/resolv.conf
shift
exec "$@"
"""


def add_options(parser):
    parser.add_argument("--mute-dns", action="store_true",
                        help="store: with a name server that does not answer")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # see bench()


class Server:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        first = self.process.stdout.readline()
        assert first.startswith("listening on "), f"{name}: unexpected first line {first!r}"
        self.port = first.rsplit(":", 1)[1].strip()

    def cpu_seconds(self):
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9

    def load(self, operation, connections, amount):
        """What ddprun_store_load prints, and the server's CPU time meanwhile; None: no answer."""
        before = self.cpu_seconds()
        run = subprocess.run([LOAD, self.port, operation, str(connections), str(amount)],
                             capture_output=True, text=True)
        if run.returncode != 0:
            return None
        return [float(figure) for figure in run.stdout.split()] + [self.cpu_seconds() - before]

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def both_servers(python):
    servers = [Server("torch", [python, TORCH_STORE]),
               Server("ddprun", [DDPRUN, "store", "--host", "127.0.0.1", "--port", "0"])]
    try:
        yield servers
    finally:
        for server in servers:
            server.stop()


def in_turns(servers, runs, operation, connections, amount):
    """For each server the medians of its figures."""
    figures = {server.name: [] for server in servers}
    for _ in range(runs):
        for server in servers:
            figures[server.name].append(server.load(operation, connections, amount))
    return {name: [statistics.median(column) for column in zip(*rows)] if None not in rows else None
            for name, rows in figures.items()}


def show(what, results, form):
    ours, theirs = results["ddprun"], results["torch"]
    for name, row in results.items():
        print(f"  {what:22} {name:7} {form(row) if row else 'no answer within 10 s'}"
              + (form(ours, theirs) if name == "ddprun" and ours and theirs else ""), flush=True)


def operation_row(row, peer=None):
    rate, p50, p99, cpu = row
    if peer:
        return (f"   {rate / peer[0]:.2f} x the requests, p99 {p99 / peer[2]:.2f} x, "
                f"CPU {cpu / rate / (peer[3] / peer[0]):.2f} x")
    return f"{rate:8.0f}/s  p50 {p50:7.0f} us  p99 {p99:7.0f} us  CPU {1e6 * cpu / rate / SECONDS:5.2f} us"


def wake_row(row, peer=None):
    return f"   {peer[0] / row[0]:.2f} x faster" if peer else f"p50 {row[0]:7.0f} us  p99 {row[1]:7.0f} us"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def meet(store):
    """By phase: ms from the first node's begin to the last node's end. And how many connections there
    are to the coordinator."""
    port = free_port()
    command = [DDPRUN, "--nnodes", str(NODES), "--rdzv-backend", "c10d", "--rdzv-id", "meeting",
               "--rdzv-endpoint", f"127.0.0.1:{port}", "--store", store, "--no-python", MEETING,
               str(WORKERS)]
    agents = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                               env=os.environ | {"COORDINATOR_PORT": str(port)})
              for _ in range(NODES)]
    spans, connections = {}, None
    for agent in agents:
        said = agent.communicate()[0]
        assert agent.returncode == 0, f"an agent with --store {store} ended with {agent.returncode}"
        for line in said.splitlines():
            phase, *figures = line.split()
            if phase == "connections":
                connections = int(figures[0])
            else:
                spans.setdefault(phase, []).append([int(figure) for figure in figures])
    return {phase: (max(end for _, end in span) - min(begin for begin, _ in span)) / 1000
            for phase, span in spans.items()}, connections


def show_meeting(runs):
    print(f"\n{NODES} nodes of {WORKERS} workers meet")
    results = {"leader": [], "local": []}
    for _ in range(runs + 1):  # the first warms the caches
        for store, rows in results.items():
            rows.append(meet(store))
    for phase, what in (("connect", "all have connected"), ("barriers", "last wait of 20 barriers"),
                        ("addresses", "last wait of addresses")):
        for store, rows in results.items():
            times = [times[phase] for times, _ in rows[1:]]
            others = [times[phase] for times, _ in results["leader"][1:]]
            ratio = statistics.median(times) / statistics.median(others)
            print(f"  {what:25} {store:7} {statistics.median(times):8.1f} ms"
                  + (f"   {ratio:.2f} x leader" if store == "local" else ""), flush=True)
    for store, rows in results.items():
        counts = sorted({connections for _, connections in rows})
        print(f"  {'to the coordinator':25} {store:7} {', '.join(map(str, counts))} connections")


def measure(arguments):
    runs = min(arguments.runs, RUNS_MAX)
    python = str(Path(arguments.torchrun).with_name("python"))
    with both_servers(python) as servers:
        for operation in ("setget", "get", "add"):
            for connections in CONNECTIONS:
                results = in_turns(servers, runs, operation, connections, SECONDS)
                show(f"{operation}, {connections} connections", results, operation_row)
        show(f"wake {WAITERS} waiters", in_turns(servers, runs, "wake", WAITERS, 5), wake_row)
    show_meeting(runs)


def hear_all(silent):
    while True:
        silent.recv(512)


def answer_nothing():
    """A name server that hears questions and keeps silent."""
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind((MUTE_DNS, 53))
    threading.Thread(target=lambda: hear_all(silent), daemon=True).start()


def bench(arguments):
    if not arguments.torchrun:
        sys.exit("bench: the store is measured beside torch's own: --torchrun names none")
    if arguments.inside:
        if arguments.mute_dns:
            answer_nothing()
        return measure(arguments)
    if os.geteuid() != 0:
        sys.exit("bench: only root can say how names are looked up")
    with tempfile.TemporaryDirectory() as folder:
        source = "dns" if arguments.mute_dns else "files"
        Path(folder, "nsswitch.conf").write_text(f"hosts: {source}\n")
        Path(folder, "resolv.conf").write_text(f"nameserver {MUTE_DNS}\n")
        print(f"small requests, names from {source}"
              + (" that does not answer" if arguments.mute_dns else ""), flush=True)
        subprocess.run(["unshare", "--mount", "--net", "sh", "-ec", ISOLATED, "sh", folder,
                        sys.executable, *sys.argv, "--inside"], check=True)
