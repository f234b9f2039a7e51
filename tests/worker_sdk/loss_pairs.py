"""Kills rank 1 of an elastic loop and soon afterwards another worker, again and again, and looks from outside.

    loss_pairs.py DDPRUN [--pairs 1000] [--seed 1] [--language Python|C++] [--nodes 1|3] [--apart-ms MS...]

The second worker dies at any time up to 400 ms after the first, at once in every eighth pair, and in every third pair it
is the worker that replaces the first. It takes minutes, so no suite runs all of it. ddprun is not asked: what lives is
read from /proc, and who trained with whom from what the workers wrote. Two worlds must never train at once, no node may
have more workers than it should, every worker that was not killed stays, and every job ends with 0 and leaves nothing.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "scripts")]

from benchmarks.storm import CALM_STEPS, PROGRAMS, Storm, send  # noqa: E402

WORKERS = 3
APART_MAX_S = 0.4
LOOK_EVERY_S = 0.005
NAMES = {"Python": "python", "C++": "storm_gpt"}  # processes of workers have them, those of the fork server others
TRAINS = ("samples", "step")  # only a worker that trains says them
LAST_CHARACTERS = 6000  # a node has said more; these are shown where something was wrong


def process(pid):
    """(name, state, number of the start) of a process; None: it is gone."""
    try:
        head, _, tail = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    fields = tail.split()
    return head.partition("(")[2], fields[0], fields[19]


def words_in(file):
    try:
        return Path(file).read_text().split()
    except OSError:
        return []  # the process or the thread has ended


def children(pid):
    """What each of its threads has started, or taken on."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return []
    return [int(child) for thread in threads for child in words_in(f"/proc/{pid}/task/{thread}/children")]


class Eye(threading.Thread):
    """Looks at the workers of a job for as long as it runs."""

    def __init__(self, agents, name, most):
        super().__init__(daemon=True)
        self.agents, self.program, self.most = agents, name, most
        self.seen, self.looks, self.wrong = set(), 0, []
        self.ended = threading.Event()

    def workers(self, agent):
        """Those that live. All of them are listed before the first is looked at: so they live at the same time."""
        below = children(agent)
        below += [child for pid in below for child in children(pid)]
        found = {pid: process(pid) for pid in below}
        self.seen |= {(pid, facts[2]) for pid, facts in found.items() if facts}
        return {pid for pid in children(agent) if pid in found and self.works(process(pid))}

    def works(self, facts):
        return facts is not None and facts[0].startswith(self.program) and facts[1] not in "ZX"

    def run(self):
        while not self.ended.wait(LOOK_EVERY_S):
            for agent in self.agents:
                alive = self.workers(agent)
                if len(alive) > self.most:
                    self.wrong.append(f"{len(alive)} workers live on one node: {sorted(alive)}")
            self.looks += 1

    def close(self):
        self.ended.set()
        self.join()

    def left(self):
        return [pid for pid, start in self.seen
                if (facts := process(pid)) and facts[2] == start and facts[1] not in "ZX"]


def two_worlds(lines):
    """What was done in a round after the next one had begun to train; None: nothing."""
    newest = None
    for line in sorted((line for line in lines if line["what"] in TRAINS), key=lambda line: line["at"]):
        if newest and line["round"] < newest["round"]:
            return f"pid {line['pid']} trains in round {line['round']}, and pid {newest['pid']} did in {newest['round']}"
        newest = line
    return None


class Pairs(Storm):
    """A job whose workers are killed in pairs."""

    def __init__(self, arguments, folder, variables, seed):
        (folder / "text").write_text("".join(page.read_text() for page in sorted((PROJECT / "docs").glob("**/*.md"))))
        workers, self.ddprun = WORKERS // arguments.nodes, arguments.ddprun
        super().__init__(arguments.language, folder, variables, arguments.steps, seed, arguments.nodes, workers)
        self.eye = Eye([node.agent.pid for node in self.nodes], NAMES[arguments.language], workers)
        self.eye.start()
        self.counts = {}

    def alive(self):
        return set().union(*(self.eye.workers(node.agent.pid) for node in self.nodes))

    def members(self, round):
        return {line["rank"]: line["pid"] for line in self.told.of("world") if line["round"] == round}

    def second(self, members):
        """Another worker than rank 1's: in every third pair the one that replaces it, if it lives by then."""
        newcomers = sorted(self.alive() - set(members.values()))
        if newcomers and self.random.random() < 1 / 3:
            return newcomers[0], "the worker that replaces the first"
        return members[self.random.choice([0, 2])], "another member"

    def lose(self, apart):
        """Returns what was wrong; None: nothing."""
        self.whole()
        time.sleep(self.random.random() * 0.05)  # anywhere in a step
        before = self.told.last_round()
        members = self.members(before)
        if len(members) < WORKERS:
            return f"round {before} has the members {members}"
        begun = time.monotonic()
        send(members[1], signal.SIGKILL)
        time.sleep(max(0, begun + apart - time.monotonic()))
        victim, what = (members[self.random.choice([0, 2])], "both at once") if apart == 0 else self.second(members)
        send(victim, signal.SIGKILL)
        self.counts[what] = self.counts.get(what, 0) + 1
        return self.judge(before, set(members.values()) - {members[1], victim}, time.monotonic())

    def judge(self, before, survivors, since):
        self.wait("a step of all workers", lambda: any(
            line["at"] > since and line["size"] == WORKERS and line["round"] > before for line in self.told.of("step")))
        round = self.told.last_round()
        members = set(self.members(round).values())
        if not survivors <= members:
            return f"{sorted(survivors - members)} were not killed, and are not in round {round}"
        if (alive := self.alive()) != members:
            return f"round {round} has {sorted(members)}, and {sorted(alive)} live"
        return two_worlds([line for line in self.told.read() if line["round"] >= before]) or self.eyes_word()

    def eyes_word(self):
        return self.eye.wrong.pop() if self.eye.wrong else None

    def lose_all(self, moments):
        """Yields what was wrong with each pair, for as long as the job has steps for one."""
        self.wait("all workers", lambda: [line for line in self.told.of("step") if line["size"] == WORKERS])
        while moments and self.told.of("step")[-1]["step"] < self.steps - CALM_STEPS:
            yield self.lose(moments.pop(0))

    def finish(self):
        """Returns what was wrong with the end of the job; None: nothing."""
        self.wait("the end of the training", self.is_over, goes_on=lambda: len(self.told.read()))
        codes = [node.agent.wait(60) for node in self.nodes]
        self.eye.close()
        if codes != [0] * len(codes):
            return f"exit codes {codes}"
        if left := self.eye.left():
            return f"left behind: {left}"
        return self.eyes_word()


def moments(arguments):
    """How many seconds pass between the two deaths of each pair."""
    if arguments.apart_ms:
        return [ms / 1000 for ms in arguments.apart_ms]
    chance = random.Random(arguments.seed)
    return [0 if pair % 8 == 0 else chance.uniform(0, APART_MAX_S) for pair in range(arguments.pairs)]


def run_job(arguments, folder, variables, seed, apart):
    """Returns (pairs, wrong sentences, kinds of pairs, looks) of one job; takes its pairs from `apart`."""
    job, found = Pairs(arguments, folder, variables, seed), []
    try:
        for sentence in job.lose_all(apart):
            found.append(sentence)
        found.append(job.finish())
    except RuntimeError as failure:
        found.append(str(failure))
    finally:
        job.eye.ended.set()
        job.end()
    wrong = [sentence for sentence in found if sentence]
    if wrong:
        for node in job.nodes:
            print(node.err.read_text(errors="replace")[-LAST_CHARACTERS:])
    return sum(job.counts.values()), wrong, job.counts, job.eye.looks


def campaign(arguments, scratch):
    variables = os.environ | {"PYTHON_EXEC": sys.executable, "OMP_NUM_THREADS": "1",
                              "PYTHONPATH": str(PROJECT / "worker_sdk" / "python"), "DDPRUN_CHECK_STATE": "1"}
    apart, begun = moments(arguments), time.monotonic()
    jobs = pairs = looks = bad = 0
    kinds = {}
    while apart:
        jobs += 1
        folder = Path(scratch) / f"job_{jobs}"
        folder.mkdir()
        done, wrong, counts, looked = run_job(arguments, folder, variables, arguments.seed + jobs, apart)
        pairs, looks, bad = pairs + done, looks + looked, bad + len(wrong)
        kinds = {kind: kinds.get(kind, 0) + counts.get(kind, 0) for kind in {**kinds, **counts}}
        for sentence in wrong:
            print(f"job {jobs}: {sentence}", flush=True)
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        print(f"{arguments.language}, {arguments.nodes} nodes: {pairs} pairs ({told}) in {jobs} jobs, {looks} looks, "
              f"{bad} times wrong, {time.monotonic() - begun:.0f} s", flush=True)
        if bad and not done:
            break
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ddprun")
    parser.add_argument("--steps", type=int, default=800, help="of a job; where pairs are left, another one follows")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--language", choices=[*PROGRAMS], default="Python")
    parser.add_argument("--nodes", type=int, choices=[1, 3], default=1, help="all on this machine")
    parser.add_argument("--apart-ms", type=float, nargs="+", help="the pairs, each by the time between its deaths")
    parser.add_argument("--keep", type=Path, help="empty folder in which all that is written stays")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ddprun_pairs_") as scratch:
        sys.exit(campaign(arguments, arguments.keep or scratch) > 0)


if __name__ == "__main__":
    main()
