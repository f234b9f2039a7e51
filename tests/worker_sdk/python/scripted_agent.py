"""An agent for tests of the elastic loop: it forks workers, and replaces those that fail while the others stay."""

import json
import os
import select
import signal
import socket
import time
from pathlib import Path

import torch.distributed

from forked_workers import DEADLINE_S, fork, free_port


class Worker:
    def __init__(self, pid):
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.line = None
        self.unread = b""
        self.parked = -1  # the greatest round that it has left

    def say(self, **message):
        self.line.sendall(json.dumps(message).encode() + b"\n")

    def is_frozen(self):
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


class ScriptedAgent:
    """Rounds are numbered from 1. All of them meet in one store, which a process of its own serves."""

    resize = True  # all workers have to say so

    def __init__(self, folder, count, work, patience_s):
        self.folder = folder
        self.count = count
        self.work = work
        self.patience_s = patience_s
        self.round = 1
        self.workers = {}
        self.codes = {}
        self.pids = {rank: [] for rank in range(count)}  # each rank has had, one after the other
        self.path = str(folder / "control")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(count)
        self.port = free_port()
        self.store = fork(self.serve_store)

    def serve_store(self):
        store = torch.distributed.TCPStore("127.0.0.1", self.port, is_master=True, wait_for_workers=False)
        signal.pause()
        del store

    def environment(self, rank):
        return {"RANK": str(rank), "WORLD_SIZE": str(self.count), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(self.port), "DDPRUN_ROUND": str(self.round),
                "TORCHELASTIC_RESTART_COUNT": str(self.round - 1), "TORCHELASTIC_USE_AGENT_STORE": "True"}

    def start(self, rank):
        control = {"DDPRUN_CONTROL": f"{self.path}:{rank}"}
        self.workers[rank] = Worker(fork(self.work, **self.environment(rank), **control))
        self.pids[rank].append(self.workers[rank].pid)

    def run(self):
        """From the first start until all workers have ended well. Returns the exit codes of all that did not."""
        for rank in range(self.count):
            self.start(rank)
        failed = []
        try:
            end = time.monotonic() + DEADLINE_S
            while self.workers and time.monotonic() < end:
                failed += self.hear(end - time.monotonic())
        finally:
            os.kill(self.store, signal.SIGKILL)
            os.waitpid(self.store, 0)
            for worker in self.workers.values():
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)
            self.listener.close()
        return failed

    def hear(self, seconds):
        by_descriptor = {self.listener.fileno(): None}
        for rank, worker in self.workers.items():
            by_descriptor[worker.pidfd] = rank
            if worker.line is not None:
                by_descriptor[worker.line.fileno()] = rank
        failed = []
        for descriptor in select.select(list(by_descriptor), [], [], seconds)[0]:
            rank = by_descriptor[descriptor]
            if rank is None:
                self.greet()
            elif descriptor == self.workers[rank].pidfd:
                failed += self.reap(rank)
                break  # descriptors have changed
            else:
                self.read(rank)
                break
        return failed

    def greet(self):
        connection, _ = self.listener.accept()
        text = b""
        while not text.endswith(b"\n"):
            text += connection.recv(4096)
        hello = json.loads(text)
        assert (hello["type"], hello["round"]) == ("hello", self.round), hello
        assert hello["resize"] is self.resize, hello
        self.workers[hello["local_rank"]].line = connection
        self.welcome(hello["local_rank"])

    def welcome(self, rank):
        """The worker enters no world before."""
        self.workers[rank].say(type="welcome", patience_s=self.patience_s)

    def read(self, rank):
        worker = self.workers[rank]
        try:
            data = worker.line.recv(4096)
        except ConnectionResetError:  # it was killed before it has read all
            data = b""
        if not data:
            worker.line.close()
            worker.line = None
            return
        *lines, worker.unread = (worker.unread + data).split(b"\n")
        for message in map(json.loads, lines):
            self.heard(rank, message)

    def heard(self, rank, message):
        if message["type"] == "parked":
            self.workers[rank].parked = message["round"]

    def reap(self, rank):
        worker = self.workers.pop(rank)
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        os.close(worker.pidfd)
        if worker.line is not None:
            worker.line.close()
        if code == 0:
            return []
        self.replace(rank)
        return [code]

    def replace(self, rank):
        """One worker has failed: the others leave the round and enter the next one."""
        self.change_at_once()
        self.start(rank)

    def change_at_once(self):
        """The live workers leave the round, and get the next one."""
        self.say_to_all(type="leave", round=self.round)
        self.await_parked()
        self.enter_next_round()

    def say_to_all(self, **message):
        for worker in self.workers.values():
            worker.say(**message)

    def await_parked(self):
        self.read_until(lambda: all(worker.parked == self.round for worker in self.workers.values()))

    def read_until(self, has_come):
        """Reads what the workers say, until all has come that is waited for."""
        while not has_come():
            lines = {worker.line: rank for rank, worker in self.workers.items()}
            readable = select.select(list(lines), [], [], DEADLINE_S)[0]
            assert readable, "a worker has not said what it should"
            self.read(lines[readable[0]])

    def enter_next_round(self):
        self.round += 1
        for rank, worker in self.workers.items():
            worker.say(type="enter", round=self.round, environment=self.environment(rank))
