"""How long it takes until the nodes of a job have their parts of a round: thousands of simulated agents at
a coordinator on one core, real agents started together, and the nodes of a job of which one is killed,
comes later, freezes or is cut off. Beside it torchrun, where it can do the same; --quick leaves it out."""

import json
import os
import select
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.common import DDPRUN, PROJECT, now
from benchmarks.hosts import Hosts, why_no_hosts
from benchmarks.turns import before_all_others, working_time

STAMP = str(PROJECT / "build" / "ddprun_stamp")
AGENTS = str(PROJECT / "build" / "ddprun_simulated_agents")
NEEDS = (DDPRUN, STAMP, AGENTS)

SWARMS = (100, 1_000, 10_000)
SWARM_RUNS = 5
AGENTS_TOGETHER = (8, 64, 256)
HEARTBEAT_TIMEOUT_S = 2.0
PATIENCE_S = 240
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


def milliseconds(seconds):
    return f"{1000 * statistics.median(seconds):8.1f} ms"


# --- Simulated agents.

def alone_on(*cores):
    """For preexec_fn: on these cores, where root can have them before all else that runs on this machine."""
    def settle():
        os.sched_setaffinity(0, cores)
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    return settle


def own_cores():
    return sorted(os.sched_getaffinity(0))


def make_secret(folder):
    """A folder with the secret of the job that the agents are of: (folder, secret)."""
    secrets = Path(folder) / "secrets"
    secrets.mkdir(mode=0o700)
    secret = subprocess.run([DDPRUN, "secret"], check=True, capture_output=True, text=True).stdout
    with open(os.open(secrets / "swarm", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write(secret)
    return secrets, secret.strip()


@contextmanager
def server(tls, cores):
    """`ddprun server` on these cores: the process, and the words that tell simulated agents how to reach it."""
    with tempfile.TemporaryDirectory() as folder:
        locked, secret = [], []
        if tls:
            secrets, text = make_secret(folder)
            locked, secret = ["--secret-dir", str(secrets)], ["--secret", text]
        port_file = Path(folder) / "port"
        process = subprocess.Popen(
            [DDPRUN, "server", "--host", "127.0.0.1", "--port", "0", "--port-file", str(port_file), *locked],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=alone_on(*cores))
        try:
            process.stdout.readline()  # listening on ...
            yield process, [*secret, "127.0.0.1", port_file.read_text().strip()]
        finally:
            process.terminate()
            process.wait()


@contextmanager
def simulated_agents(words):
    """Agents on the last core, which begin a job at once."""
    with subprocess.Popen([AGENTS, *words], text=True, bufsize=1, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          preexec_fn=alone_on(own_cores()[-1])) as process:
        yield process
        process.stdin.close()
    assert process.returncode == 0


def memory_kb(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_KB


def cpu_s(pid):
    """The CPU time of each thread of a process, by its number."""
    return {int(thread.name): int((thread / "schedstat").read_text().split()[0]) / 1e9
            for thread in Path(f"/proc/{pid}/task").iterdir()}


def swarm(agents, tls):
    """One job from its start over a loss to its end: what the agents report, and what both sides cost."""
    with server(tls, own_cores()[:1]) as (coordinator, words):
        memory, before = memory_kb(coordinator.pid), cpu_s(coordinator.pid)
        with simulated_agents([*words, str(agents)]) as process:
            start = json.loads(process.stdout.readline())
            cpu = sum(cpu_s(coordinator.pid).values()) - sum(before.values())
            agents_cpu = sum(cpu_s(process.pid).values())
            print("lose", file=process.stdin)
            loss = json.loads(process.stdout.readline())
            memory = memory_kb(coordinator.pid) - memory
            print("end", file=process.stdin)
            json.loads(process.stdout.readline())
        return {"start": start["seconds"], "loss": loss["seconds"], "cpu": cpu, "agents_cpu": agents_cpu,
                "to": start["bytes_sent"] / agents, "from": start["bytes_received"] / agents,
                "loss to": loss["bytes_sent"] / agents, "loss from": loss["bytes_received"] / agents,
                "memory": memory / agents}


def coordinator_alone(agents, cores):
    """What the start of one job with TLS takes of the coordinator alone: seconds in all, of its event loop, and of
    its other threads."""
    with before_all_others(), server(True, cores) as (coordinator, words):
        before = sum(cpu_s(coordinator.pid).values())
        coordinator.send_signal(signal.SIGSTOP)
        with simulated_agents([*words, str(agents), "--heartbeat-timeout-ms", "60000"]) as process:
            working = working_time(coordinator.pid, process.pid,
                                   lambda: select.select([process.stdout], [], [], 0)[0])
            process.stdout.readline()
            cpu = cpu_s(coordinator.pid)
        loop = cpu.pop(coordinator.pid) - before
        return {"working": working, "loop": loop, "threads": sum(cpu.values())}


def follow(agents):
    """Seconds until all agents of a round whose coordinator was killed have their parts of the next one: they
    connect to the agent that follows it, elect it, and hear of the round."""
    cores = own_cores()
    port = free_port()
    with subprocess.Popen(
            [DDPRUN, "--nnodes", f"1:{agents + 1}", "--nproc-per-node", "1", "--rdzv-backend", "c10d",
             "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "swarm", "--rdzv-conf",
             "is_host=false,heartbeat_timeout=10", "--max-restarts", "0", "--no-python", "sleep", "1000"],
            stderr=subprocess.DEVNULL, preexec_fn=alone_on(cores[0])) as successor:
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            time.sleep(0.01)
        run = subprocess.run([AGENTS, "127.0.0.1", str(port), str(agents), "--voters"], text=True, check=True,
                             stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=alone_on(cores[-1]))
        successor.terminate()
    return json.loads(run.stdout.splitlines()[0])["seconds"]


def bench_successors():
    print("simulated agents whose coordinator was killed, and the agent that follows it, on one core each")
    for agents in SWARMS:
        print(f"  {agents:6,} first connect -> last assignment"
              f" {milliseconds([follow(agents) for _ in range(SWARM_RUNS)])}")


def medians_of(measure, *arguments):
    runs = [measure(*arguments) for _ in range(SWARM_RUNS)]
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def bench_swarms():
    print("simulated agents on one core, and their coordinator on another one")
    for agents, tls in [(agents, tls) for agents in SWARMS for tls in (False, True)]:
        median = medians_of(swarm, agents, tls)
        print(f"  {agents:6,} {'with TLS' if tls else '        '} first connect -> last assignment {1000 * median['start']:7.1f} ms"
              f" (CPU: coordinator {1000 * median['cpu']:.0f} ms, agents {1000 * median['agents_cpu']:.0f} ms)"
              f"   a loss -> last assignment {1000 * median['loss']:7.1f} ms\n"
              f"           an agent: {median['to']:.0f} B sent, {median['from']:.0f} B received at the"
              f" start, {median['loss to']:.0f} and {median['loss from']:.0f} after the loss;"
              f" coordinator's memory {median['memory']:.1f} KB")


def bench_coordinator_alone():
    """Only with TLS: without it the coordinator has one thread, and would take its CPU time."""
    print("the same coordinator, while the agents stand still whenever it works")
    cores = own_cores()
    for agents, some in [(agents, some) for agents in SWARMS[1:] for some in (cores[:1], cores)]:
        median = medians_of(coordinator_alone, agents, some)
        print(f"  {agents:6,} with TLS first connect -> last assignment {1000 * median['working']:7.1f} ms with"
              f" {len(some)} of {len(cores)} cores (CPU: event loop {1000 * median['loop']:.0f} ms,"
              f" other threads {1000 * median['threads']:.0f} ms)")


# --- Agents started together on this machine.

def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def together(launcher, agents):
    """Seconds from the first agent's start to the last worker's first instruction."""
    endpoint = f"127.0.0.1:{free_port()}"
    command = [launcher, "--nnodes", str(agents), "--nproc-per-node", "1", "--rdzv-backend", "c10d",
               "--rdzv-endpoint", endpoint, "--rdzv-id", "bench", "--no-python", STAMP]
    start = now()
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                 for _ in range(agents)]
    times = [float(process.communicate(timeout=PATIENCE_S)[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    return max(times) - start


def bench_together(arguments):
    print("agents started together on this machine -> first instruction of the last worker")
    for agents in AGENTS_TOGETHER:
        runs = [together(DDPRUN, agents) for _ in range(arguments.runs if agents < 200 else 3)]
        print(f"  ddprun     {agents:4} agents {milliseconds(runs)}")
    if arguments.torchrun and not arguments.quick:
        print(f"  torchrun   {8:4} agents {milliseconds([together(arguments.torchrun, 8)])}")


# --- Nodes of a job.

class Workers:
    """What the workers say: a line `TIME HOST WORLD_SIZE PID` each, through one pipe."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "workers")
        os.mkfifo(self.path)
        reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        self.writer = os.open(self.path, os.O_WRONLY)  # while it is open, reading never ends
        os.set_blocking(reader, True)
        self.file = os.fdopen(reader)
        # In a file, for torchrun takes a $$ among its arguments for its own.
        script = Path(folder) / "worker.sh"
        script.write_text(f'echo "$("{STAMP}") $(uname -n) $WORLD_SIZE $$" >"{self.path}"\n'
                          "exec sleep 1000\n")
        self.program = ["sh", str(script)]  # says when it starts, and works until it is stopped
        self.processes = {}  # by host, of the last world

    def world(self, hosts):
        """Waits until one worker runs on each of these hosts, in one world: {host: time}."""
        times = {}
        signal.alarm(PATIENCE_S)
        while times.keys() != set(hosts):
            moment, host, size, process = self.file.readline().split()
            if int(size) == len(hosts):
                times[host] = float(moment)
                self.processes[host] = int(process)
        signal.alarm(0)
        return times


TIMES = ("--rdzv-conf", f"last_call_timeout=1,keep_alive_interval={HEARTBEAT_TIMEOUT_S / 5},"
                        "keep_alive_max_attempt=5")


@contextmanager
def job(hosts, workers, *, start, launcher=(DDPRUN, *TIMES)):
    """Agents on the first `start` hosts; yields {host: agent} and a function that starts one more."""
    command = [*launcher, "--nnodes", "2:3", "--nproc-per-node", "1", "--max-restarts", "3",
               "--rdzv-backend", "c10d", "--rdzv-endpoint", "h1:29400", "--rdzv-id", "bench",
               "--no-python", *workers.program]
    agents = {}

    def run_on(host):
        agents[host] = hosts.start(host, command)

    try:
        for host in hosts.names[:start]:
            run_on(host)
        workers.world(hosts.names[:start])
        yield agents, run_on
    finally:
        hosts.clear()
        for agent in agents.values():
            agent.wait()


def killed(hosts, workers):
    with job(hosts, workers, start=3) as (agents, _):
        start = now()
        agents["h3"].kill()
        return max(workers.world(["h1", "h2"]).values()) - start


def joins(hosts, workers):
    with job(hosts, workers, start=2) as (_, run_on):
        start = now()
        run_on("h3")
        return max(workers.world(["h1", "h2", "h3"]).values()) - start


def frozen(hosts, workers):
    with job(hosts, workers, start=3):
        start = now()
        hosts.freeze("h3")
        return max(workers.world(["h1", "h2"]).values()) - start - HEARTBEAT_TIMEOUT_S


def cut_off(hosts, workers):
    with job(hosts, workers, start=3):
        start = now()
        hosts.cut_off("h3")
        try:
            return max(workers.world(["h1", "h2"]).values()) - start - HEARTBEAT_TIMEOUT_S
        finally:
            hosts.heal("h3")


def torchrun_killed(hosts, workers, torchrun):
    """Its agents do not notice that a node is gone: here the other workers do, and crash at once."""
    with job(hosts, workers, start=3, launcher=[torchrun]) as (agents, _):
        start = now()
        agents["h3"].kill()
        for host in ("h1", "h2"):
            os.kill(workers.processes[host], signal.SIGKILL)
        return max(workers.world(["h1", "h2"]).values()) - start


def bench_nodes(arguments):
    missing = why_no_hosts()
    if missing:
        return print(f"nodes of a job: left out, {missing}")
    print("nodes of a job -> first instruction of the last worker of the next round")
    with tempfile.TemporaryDirectory() as folder, Hosts(3, folder) as hosts:
        ways = {"killed, 3 -> 2": killed, "joins, 2 -> 3": joins,
                f"frozen, beyond the heartbeat timeout ({HEARTBEAT_TIMEOUT_S:.0f} s)": frozen,
                "cut off, likewise": cut_off}
        workers = Workers(folder)
        for name, measure in ways.items():
            runs = [measure(hosts, workers) for _ in range(min(arguments.runs, 10))]
            print(f"  ddprun     {name:48} {milliseconds(runs)}   (worst {1000 * max(runs):.1f})")
        if arguments.torchrun and not arguments.quick:
            print(f"  torchrun   {'killed, 3 -> 2; workers notice and crash':48} "
                  f"{milliseconds([torchrun_killed(hosts, workers, arguments.torchrun)])}")


def bench(arguments):
    bench_swarms()
    bench_coordinator_alone()
    bench_successors()
    bench_together(arguments)
    bench_nodes(arguments)
