"""Kills, freezes and breaks each worker of an elastic loop at each point of a step, on one node and on three.

    crash_matrix.py DDPRUN ELASTIC_WORKER [--language Python|C++] [--nodes 1|3]

It takes minutes, so no suite runs it. Workers of a run are lost one after the other, and replaced. In the end all must
have ended well and in place, each sample was used once, and the weights are compared with those of a training in which
nobody was lost. With three nodes it also kills each node: then the others go on without it, and hold the same weights.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parent / "python")]

from elastic_changes import until  # noqa: E402
from elastic_records import state_in, stream_of, used_in  # noqa: E402
from forked_workers import free_port  # noqa: E402

POINTS = ("before backward", "behind backward", "within the update", "behind the update")
WAYS = ("SIGKILL", "SIGSTOP", "error")
WORKERS = 3
DEATHS = [[rank, 5 + 6 * rank] for rank in range(WORKERS)]
STEPS, BATCH = 24, 12
DEADLINE_S = 120


class Job:
    """Three workers on one node or on three, all on this machine."""

    def __init__(self, words, nodes, ddprun, folder, options):
        self.folder = folder
        command = [ddprun, "--nproc-per-node", str(WORKERS // nodes), "--max-restarts", str(len(DEATHS)),
                   "--hang-timeout", "5", "--on-hang", "restart"]
        if nodes == 1:
            command += ["--standalone"]
        else:
            command += ["--nnodes", f"2:{nodes}", "--rdzv-backend", "c10d", "--rdzv-id", "job", "--rdzv-endpoint",
                        f"127.0.0.1:{free_port()}", "--rdzv-conf", "last_call_timeout=2"]
        command += [*words, folder, json.dumps({"steps": STEPS, **options})]
        self.agents = []
        for number in range(nodes):
            with open(folder / f"said.{number}", "w") as said:
                environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHON_EXEC": sys.executable}
                self.agents.append(subprocess.Popen(command, env=environment, stdout=said, stderr=said))

    def said(self):
        return "\n".join(file.read_text() for file in sorted(self.folder.glob("said.*")))

    def ends(self):
        """Returns the exit codes of its agents."""
        try:
            return [agent.wait(DEADLINE_S) for agent in self.agents]
        finally:
            for agent in self.agents:
                agent.kill()


def weights(folder, rank):
    """The model's by name, without what each rank has for itself, and without the bias in front of the BatchNorm: its
    gradient is nothing but rounding, of which AdamW makes whole steps.
    """
    file = folder / f"end.{rank}.pt"
    if file.exists():
        model = torch.load(file)["model"]
    else:
        tensors, _ = state_in(folder / f"end.{rank}.safetensors")
        model = {name: torch.frombuffer(bytearray(content), dtype=torch.float32) for name, content in tensors.items()
                 if name.startswith("model/") and not name.endswith("num_batches_tracked")}
    return {name: tensor.double() for name, tensor in model.items()
            if "running" not in name and not name.endswith("0.bias")}


def difference(one, other):
    return max(float((one[name] - other[name]).abs().max()) for name in one)


def samples_are_wrong(folder, lost_at):
    """The first step whose samples are not those that belong to it; of a step at which somebody was lost some may not
    have been written down. None: all are right.
    """
    stream, used = stream_of(STEPS * BATCH), used_in(folder)
    for step in range(1, STEPS + 1):
        wanted = stream[(step - 1) * BATCH : step * BATCH]
        found = used.get(step, [])
        is_right = sorted(found) == sorted(wanted)
        may_lack = step in lost_at and len(set(found)) == len(found) and set(found) <= set(wanted)
        if not (is_right or may_lack):
            return step
    return None


class Matrix:
    def __init__(self, ddprun, words, nodes):
        self.ddprun = ddprun
        self.words = words
        self.nodes = nodes
        self.bad = 0

    def run(self, options, act=lambda job: None):
        folder = Path(self.scratch) / f"{time.monotonic_ns()}"
        folder.mkdir()
        job = Job(self.words, self.nodes, self.ddprun, folder, options)
        act(job)
        return job, job.ends()

    def tell(self, cell, job, wrong, text, begun):
        self.bad += bool(wrong)
        print(f"{self.nodes} nodes | {cell:34} | {wrong or 'well'} | {text} | {time.monotonic() - begun:.0f} s", flush=True)
        if wrong:
            print(job.said())

    def lose_workers(self, where, how, undisturbed):
        begun = time.monotonic()
        job, codes = self.run({"dies": DEATHS, "where": where, "how": how, "resize": False})
        wrong = text = ""
        lost_at = {step + later for _, step in DEATHS for later in (0, 1)}
        if codes != [0] * self.nodes:
            wrong = f"exit codes {codes}"
        elif "workers again" in job.said():
            wrong = "not in place"
        elif (step := samples_are_wrong(job.folder, lost_at)) is not None:
            wrong = f"samples of step {step}"
        else:
            apart = difference(weights(undisturbed, 0), weights(job.folder, 0))
            text = "weights equal to the bit" if apart == 0 else f"weights within {apart:.0e}"
        self.tell(f"{how} {where}", job, wrong, text, begun)

    def lose_a_node(self, where, rank):
        """The worker waits at that point until its node is killed."""
        begun = time.monotonic()
        step = DEATHS[rank][1]

        def kill_its_node(job):
            until(lambda: (job.folder / f"waits.{rank}").exists(), "the worker to be at that point")
            pid = json.loads((job.folder / f"open.{rank}").read_text().splitlines()[-1])[0]
            while pid not in (agent.pid for agent in job.agents):
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(pid, signal.SIGKILL)
            (job.folder / f"released.{rank}").touch()

        job, codes = self.run({"waits": [[rank], step, where]}, kill_its_node)
        wrong = text = ""
        lost_at = {step, step + 1}
        if sorted(codes) != [-signal.SIGKILL, 0, 0]:
            wrong = f"exit codes {codes}"
        elif "workers again" in job.said():
            wrong = "not in place"
        elif (late := samples_are_wrong(job.folder, lost_at)) is not None:
            wrong = f"samples of step {late}"
        elif difference(weights(job.folder, 0), weights(job.folder, 1)) != 0:
            wrong = "the others' weights differ"
        else:
            text = "the others' weights are the same"
        self.tell(f"node of rank {rank} killed {where}", job, wrong, text, begun)

    def fill(self):
        with tempfile.TemporaryDirectory() as self.scratch:
            undisturbed, codes = self.run({})
            assert codes == [0] * self.nodes, undisturbed.said()
            for how in WAYS:
                for where in POINTS:
                    self.lose_workers(where, how, undisturbed.folder)
            if self.nodes > 1:
                for where in POINTS:
                    for rank in range(WORKERS):
                        self.lose_a_node(where, rank)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ddprun")
    parser.add_argument("elastic_worker")
    parser.add_argument("--language", choices=["Python", "C++"])
    parser.add_argument("--nodes", type=int, choices=[1, 3])
    arguments = parser.parse_args()
    in_python = ["--warm=torch._dynamo", Path(__file__).parent / "python" / "elastic_train.py"]
    languages = {"Python": in_python, "C++": ["--no-python", arguments.elastic_worker]}
    bad = 0
    for language in [arguments.language] if arguments.language else languages:
        for nodes in [arguments.nodes] if arguments.nodes else [1, 3]:
            print(f"--- {language}", flush=True)
            matrix = Matrix(arguments.ddprun, languages[language], nodes)
            matrix.fill()
            bad += matrix.bad
    print("all cells are well" if bad == 0 else f"{bad} cells are not")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
