"""A GPT in an elastic loop of three nodes, in Python and C++, of which a worker or a node is killed or frozen again and
again, and joins again: whether it ends with the losses of the undisturbed training, whether each sample was used once,
and how long the others stood still. It takes minutes."""

import json
import os
import random
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.common import DDPRUN, PROJECT
from benchmarks.warm import python

HERE = PROJECT / "scripts" / "benchmarks"
PROGRAMS = {"Python": ["--warm=torch._dynamo", str(HERE / "storm_gpt.py")],
            "C++": ["--no-python", str(PROJECT / "build" / "storm_gpt")]}
NEEDS = (DDPRUN, PROGRAMS["C++"][-1])
NODES = 3
WORKERS = 2  # that each node has
PATIENCE_S = 120
CALM_STEPS = 150  # at the end, so that the worker lost last is there again before the training is over
# What happens, and how often; a node that is killed or frozen is there again afterwards, which is one more change.
CHANGES = {"a worker is killed": 12, "two workers are killed": 2, "a worker is frozen": 2, "a node is killed": 5,
           "a node is frozen": 1}


def add_options(parser):
    parser.add_argument("--changes", type=int, default=100, help="storm: how often workers or nodes are lost or join")
    parser.add_argument("--steps", type=int, default=1500, help="storm: of the training")
    parser.add_argument("--seed", type=int, default=1, help="storm: of what happens, and when")
    parser.add_argument("--language", choices=[*PROGRAMS, "both"], default="both", help="storm: of the training")
    parser.add_argument("--picture", help="storm: file for a picture of the losses; needs matplotlib")
    parser.add_argument("--keep", help="storm: folder in which all that is written stays")


class Told:
    """What the workers have told so far, from the file to which they append."""

    def __init__(self, file):
        self.file, self.place, self.lines = file, 0, []

    def read(self):
        if self.file.exists():
            with open(self.file) as text:
                text.seek(self.place)
                new = text.read()
            whole = new[: new.rfind("\n") + 1]
            self.place += len(whole)
            self.lines += [json.loads(line) for line in whole.splitlines()]
        return self.lines

    def of(self, what):
        return [line for line in self.read() if line["what"] == what]

    def last_round(self):
        return max((line["round"] for line in self.of("step")), default=0)


class Node:
    """An agent with its workers, in a process group of its own."""

    def __init__(self, number, command, variables, folder):
        self.number, self.command, self.variables = number, command, variables
        self.err = folder / f"node_{number}"
        self.start()

    def start(self):
        with open(self.err, "ab") as err:
            self.agent = subprocess.Popen(self.command, env=self.variables, stdin=subprocess.DEVNULL, stdout=err,
                                          stderr=err)

    def send(self, which):
        """Sends a signal to all of its processes."""
        for pid in with_descendants(self.agent.pid):
            send(pid, which)


def with_descendants(pid):
    children = {}
    for each in map(int, filter(str.isdigit, os.listdir("/proc"))):
        children.setdefault(parent_of(each), []).append(each)
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def send(pid, which):
    try:
        os.kill(pid, which)
    except ProcessLookupError:
        pass


class Storm:
    """A training, and what happens to it."""

    ddprun = DDPRUN

    def __init__(self, language, folder, variables, steps, seed, nodes=NODES, workers=WORKERS):
        self.told, self.steps, self.random = Told(folder / "told"), steps, random.Random(seed)
        self.folder, self.size = folder, nodes * workers
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [self.ddprun, "--nnodes", f"1:{nodes}", "--nproc-per-node", str(workers), "--rdzv-backend", "c10d",
                   "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", f"storm_{port}", "--max-restarts", "10000",
                   "--hang-timeout", "10", "--on-hang", "restart", "--shutdown-timeout", "5",
                   *PROGRAMS[language], str(folder), str(steps)]
        self.nodes = [Node(number, command, variables, folder) for number in range(nodes)]

    def wait(self, what, is_so, goes_on=lambda: None):
        """Waits for PATIENCE_S since goes_on() has changed last."""
        last, deadline = goes_on(), time.monotonic() + PATIENCE_S
        while not (found := is_so()):
            if (now := goes_on()) != last:
                last, deadline = now, time.monotonic() + PATIENCE_S
            ended = [node for node in self.nodes if node.agent.poll() not in (None, -signal.SIGKILL)]
            if ended and not self.is_over():
                raise RuntimeError(f"a node has ended before {what}, see {ended[0].err}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {PATIENCE_S} s for {what}, see {self.folder}")
            time.sleep(0.005)
        return found

    def is_over(self):
        steps = self.told.of("step")
        return bool(steps) and steps[-1]["step"] >= self.steps

    def step_after(self, at, size=None):
        """When the first step after `at` counted, in a world that was entered after it."""
        rounds = {line["round"] for line in self.told.of("world") if line["at"] > at}
        return next((line["at"] for line in self.told.of("step")
                     if line["at"] > at and line["round"] in rounds and size in (None, line["size"])), None)

    def whole(self):
        """Waits for a step of all workers, which are all there."""
        since = time.monotonic()
        self.wait("all workers", lambda: self.is_over() or any(
            line["at"] > since and line["size"] == self.size for line in self.told.of("step")))

    def happen(self, what):
        """Returns (what, seconds until the others' next step) for each change."""
        node = self.random.choice(self.nodes)
        at = time.monotonic()
        if what in ("a worker is killed", "two workers are killed", "a worker is frozen"):
            worlds = self.told.of("world")
            members = sorted({line["pid"] for line in worlds if line["round"] == worlds[-1]["round"]})
            for pid in self.random.sample(members, 2 if what.startswith("two") else 1):
                send(pid, signal.SIGSTOP if what.endswith("frozen") else signal.SIGKILL)
            return [(what, self.wait("the next step", lambda: self.step_after(at)) - at)]
        killed = what.endswith("killed")
        node.send(signal.SIGKILL if killed else signal.SIGSTOP)
        if killed:
            node.agent.wait()
        lost = self.wait("the others' next step", lambda: self.step_after(at)) - at
        at = time.monotonic()
        if killed:
            node.start()
        else:
            node.send(signal.SIGCONT)
        self.wait("all workers again", lambda: self.step_after(at, self.size))
        entered = [line["at"] for line in self.told.of("world") if line["at"] > at and line["size"] == self.size]
        before = [line["at"] for line in self.told.of("step") if line["at"] < min(entered)]
        return [(what, lost), ("a node joins", self.step_after(max(before), self.size) - max(before))]

    def run(self, changes):
        """Lets that many changes happen, at steps spread over the training; returns them with their seconds."""
        self.wait("all workers", lambda: [s for s in self.told.of("step") if s["size"] == self.size])
        happened = []
        while len(happened) < changes and (begun := self.told.of("step")[-1]["step"]) < self.steps - CALM_STEPS:
            due = max(begun + 2, (self.steps - CALM_STEPS) * (len(happened) + 1) // (changes + 2))
            self.wait(f"step {due}", lambda: self.is_over() or self.told.of("step")[-1]["step"] >= due)
            self.whole()
            time.sleep(self.random.random() * 0.05)  # anywhere in a step
            if self.is_over():
                break
            what = self.random.choices(list(CHANGES), list(CHANGES.values()))[0]
            happened += self.happen(what)
        while not self.is_over():
            begun = self.told.of("step")[-1]["step"]
            self.wait("another step", lambda: self.is_over() or self.told.of("step")[-1]["step"] > begun)
        codes = [node.agent.wait(PATIENCE_S) for node in self.nodes]
        if codes != [0] * len(codes):
            raise RuntimeError(f"the nodes ended with {codes}, see {self.folder}")
        return happened

    def end(self):
        for node in self.nodes:
            node.send(signal.SIGKILL)
            node.agent.wait()


def samples(told):
    """The samples of each step: those of the last world that trained on it."""
    of_step = {}
    for line in told.of("samples"):
        of_step.setdefault(line["step"], {}).setdefault(line["round"], []).extend(line["indices"])
    return {step: sorted(rounds[max(rounds)]) for step, rounds in of_step.items()}


class Training:
    """What came of a training: changes with their seconds, losses and samples by step, processes that took part."""

    def __init__(self, language, changes, arguments, folder, text):
        folder.mkdir(parents=True)
        (folder / "text").write_text(text)
        variables = os.environ | {"PYTHON_EXEC": python(arguments.torchrun), "OMP_NUM_THREADS": "1",
                                  "PYTHONPATH": str(PROJECT / "worker_sdk" / "python"), "DDPRUN_CHECK_STATE": "1"}
        storm = Storm(language, folder, variables, arguments.steps, arguments.seed)
        try:
            self.changes = storm.run(changes)
        finally:
            storm.end()
        self.losses = {line["step"]: line["loss"] for line in storm.told.of("step")}
        self.samples = samples(storm.told)
        self.repeated = len({(line["step"], line["round"]) for line in storm.told.of("samples")}) - len(self.samples)
        self.processes = len({line["pid"] for line in storm.told.of("world")})
        self.worlds = len({line["round"] for line in storm.told.of("world")})


def tell(language, calm, storm):
    """Prints what the storm has done to the training; returns whether it did no harm."""
    print(f"{language}: {len(storm.changes)} changes in {len(storm.losses)} steps, {storm.worlds} worlds,"
          f" {storm.processes} processes, {storm.repeated} steps done again")
    for what in dict.fromkeys(what for what, _ in storm.changes):
        times = [seconds for each, seconds in storm.changes if each == what]
        print(f"  {what:24} {len(times):4} times, {statistics.median(times):7.2f} s to the next step in the median,"
              f" {max(times):6.2f} s at most")
    same = storm.samples == calm.samples
    print(f"  samples: {'those of the undisturbed training in every step' if same else 'DIFFERENT'}")
    far = max(abs(storm.losses[step] - calm.losses[step]) for step in calm.losses.keys() & storm.losses.keys())
    last = sorted(calm.losses)[-100:]
    ends = [statistics.mean(each.losses[step] for step in last if step in each.losses) for each in (calm, storm)]
    print(f"  loss of the last 100 steps: {ends[1]:.4f}, undisturbed {ends[0]:.4f}; in a step at most {far:.4f} apart")
    return same


def draw(file, pairs):
    """The losses of each language's two trainings."""
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "storm"
    figure, axes = pyplot.subplots(1, len(pairs), figsize=(5 * len(pairs), 3.2), sharey=True, squeeze=False)
    for each, (language, calm, storm) in zip(axes[0], pairs):
        for training, name, width in ((calm, "undisturbed", 2.5), (storm, f"{len(storm.changes)} changes", 0.8)):
            steps = sorted(training.losses)
            each.plot(steps, [training.losses[step] for step in steps], linewidth=width, label=name)
        each.set(title=language, xlabel="step")
        each.legend()
    axes[0][0].set_ylabel("loss")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def bench(arguments):
    languages = list(PROGRAMS) if arguments.language == "both" else [arguments.language]
    text = "".join(page.read_text() for page in sorted((PROJECT / "docs").glob("**/*.md")))
    pairs = []
    with tempfile.TemporaryDirectory(prefix="ddprun_storm_") as scratch:
        folder = Path(arguments.keep or scratch)
        for language in languages:
            calm, storm = (Training(language, changes, arguments, folder / f"{language}_{name}", text)
                           for name, changes in (("undisturbed", 0), ("storm", arguments.changes)))
            pairs.append((language, calm, storm))
            tell(*pairs[-1])
    if arguments.picture:
        draw(arguments.picture, pairs)
