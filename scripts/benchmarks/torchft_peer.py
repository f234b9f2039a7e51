"""torchft beside ddprun: three replica groups of one worker each, which a torchrun of its own starts again when it
dies, and the lighthouse that they meet at (https://github.com/meta-pytorch/torchft)."""

import os
import re
import socket
import subprocess
import tempfile
from pathlib import Path

from benchmarks.common import PROJECT

STEP = str(PROJECT / "scripts" / "benchmarks" / "torchft_step.py")
GROUPS = 3
KILLED = 1  # the group whose worker dies
DEATHS = 5
TIMEOUT_S = 300
# Until the others go on without a worker that is silent: its heartbeats come every 100 ms.
SETTINGS = {
    "README's times": ("--join_timeout_ms", "10000"),  # the lighthouse itself has a heartbeat timeout of 5000 ms
    "heartbeat timeout 1 s": ("--join_timeout_ms", "10000", "--heartbeat_timeout_ms", "1000"),
    "shortest times": ("--join_timeout_ms", "100", "--heartbeat_timeout_ms", "500", "--quorum_tick_ms", "10")}
COUNTED = re.compile(r"^counted (\d) (\d) ([\d.]+)$", re.MULTILINE)
DEATH = re.compile(r"^death \d \d ([\d.]+)$", re.MULTILINE)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start(command, folder, name, **variables):
    """By `timeout`, so that it ends also where nobody is left to end it; torchrun takes 30 s to end its workers."""
    with open(folder / name, "wb") as output, open(folder / f"{name}.err", "wb") as errors:
        return subprocess.Popen(["timeout", "--kill-after=40", str(TIMEOUT_S), *command], stdout=output, stderr=errors,
                                env=os.environ | {"OMP_NUM_THREADS": "1"} | variables)


def start_lighthouse(python, times, port, folder):
    command = [str(Path(python).with_name("torchft_lighthouse")), "--bind", f"127.0.0.1:{port}", "--min_replicas",
               str(GROUPS - 1), *times]
    return start(command, folder, "lighthouse")


def start_group(python, group, port, lighthouse_port, folder):
    command = [python, "-m", "torch.distributed.run", "--nproc-per-node", "1", "--master-addr", "127.0.0.1",
               "--master-port", str(port), "--max-restarts", str(DEATHS), STEP, str(DEATHS), str(folder / "died")]
    return start(command, folder, f"group_{group}", REPLICA_GROUP_ID=str(group),
                 TORCHFT_LIGHTHOUSE=f"http://127.0.0.1:{lighthouse_port}")


def outputs(python, times, folder):
    """What the groups have written until all of them ended."""
    (folder / "died").touch()
    lighthouse_port, *ports = free_ports(1 + GROUPS)
    started = [start_lighthouse(python, times, lighthouse_port, folder)]
    try:
        started += [start_group(python, group, port, lighthouse_port, folder) for group, port in enumerate(ports)]
        codes = [each.wait(TIMEOUT_S + 60) for each in started[1:]]
    finally:
        for each in started:
            each.terminate()
        for each in started:
            each.wait(60)
    if any(codes):
        print(f"  a group of torchft has failed, with {codes}: {(folder / f'group_{KILLED}.err').read_text()[-500:]}")
    return "".join((folder / f"group_{group}").read_text() for group in range(GROUPS))


def times_after(died, counted):
    """Seconds from a death to the last other group's next step, and to the last group's next step with all of them.
    The step during which it died, and still had all groups, does not count."""
    def first(group, participants, after):
        return min(at for at, who, many in counted if (who, many) == (group, participants) and at > after)

    others = [first(group, GROUPS - 1, died) for group in range(GROUPS) if group != KILLED]
    everybody = [first(group, GROUPS, min(others)) for group in range(GROUPS)]
    return max(others) - died, max(everybody) - died


def worker_killed(python, times):
    """Of each death the seconds to the others' next step, and to the next step of all; nothing if the run failed."""
    with tempfile.TemporaryDirectory(prefix="ddprun_torchft_") as folder:
        text = outputs(python, times, Path(folder))
    counted = [(float(at), int(group), int(participants)) for group, participants, at in COUNTED.findall(text)]
    try:
        return [times_after(float(died), counted) for died in DEATH.findall(text)]
    except ValueError:  # there is no such step
        return []
