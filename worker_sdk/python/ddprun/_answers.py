"""Hands a function to the workers of a job, and takes what it returned or raised there."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ddprun._call import Answer, Call, Place
from ddprun._wire import Wire, WireError, keep_alive

HELLO_SECONDS = 30.0
HELLO_BYTES_MAX = 1 << 16


class WorkerTraceback(Exception):
    """The traceback of an exception as the worker saw it, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


class Answers:
    """Listens for workers, each of which is served in a thread of its own."""

    def __init__(self, call: Call, key: bytes, address: str) -> None:
        """`address`: where to listen; "": at all addresses of this machine."""
        self._call = pickle.dumps(call)
        self._key = key
        self._lock = threading.Lock()
        self._last_round = 0
        self._answers: Dict[int, Answer] = {}  # by rank, those of the last round
        self._first_error: Optional[Answer] = None  # in that round
        self._threads: List[threading.Thread] = []
        if address == "" and socket.has_dualstack_ipv6():
            self._socket = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
        else:
            self._socket = socket.create_server((address, 0), backlog=1024)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self, patience: float) -> None:
        """All workers have ended: waits at most that many seconds for what they have sent before."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # close() alone does not wake up accept()
        except OSError:
            pass
        self._socket.close()
        deadline = time.monotonic() + patience
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def heard(self) -> bool:
        """Whether a worker has ever come: then a job has begun."""
        with self._lock:
            return self._last_round > 0

    def results(self) -> Tuple[List[Any], List[int]]:
        """What the function returned on each rank of the last round; or no results, and the ranks that have
        not told."""
        with self._lock:
            answers = dict(self._answers)
        size = max((answer.place.world_size for answer in answers.values()), default=1)
        missing = [rank for rank in range(size) if rank not in answers or answers[rank].result is None]
        if missing:
            return [], missing
        return [pickle.loads(answers[rank].result or b"") for rank in range(size)], []

    def error(self, ranks: Sequence[int]) -> Optional[Tuple[int, BaseException]]:
        """The exception of one of these ranks; if `ranks` is empty, the first one that was reported. Both of the
        last round."""
        with self._lock:
            of_ranks = [self._answers[rank] for rank in ranks if rank in self._answers]
            first = None if ranks else self._first_error
        for answer in [*of_ranks, *([first] if first else [])]:
            if answer.result is None:
                return answer.place.rank, _exception_of(answer)
        return None

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._socket.fileno() < 0:
                    return
                time.sleep(0.1)  # too many files are open, or the client has gone
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._talk(connection)
        except (OSError, WireError, pickle.UnpicklingError):
            pass  # a stranger's connection, or that of a worker which was killed: ddprun says so

    def _talk(self, connection: socket.socket) -> None:
        keep_alive(connection)
        connection.settimeout(HELLO_SECONDS)
        wire = Wire.accept(connection, self._key)
        hello = wire.receive(HELLO_BYTES_MAX)
        if hello is None:
            return
        connection.settimeout(None)
        self._see(pickle.loads(hello))
        wire.send(self._call)
        message = wire.receive()
        if message is not None:
            self._take(pickle.loads(message))
            wire.receive(0)  # a worker takes the end of its connection for that of the job

    def _see(self, place: Place) -> None:
        """Reports of earlier rounds count no more."""
        with self._lock:
            self._begin(place.round)

    def _take(self, answer: Answer) -> None:
        with self._lock:
            self._begin(answer.place.round)
            if answer.place.round < self._last_round:
                return
            self._answers[answer.place.rank] = answer
            if answer.result is None and self._first_error is None:
                self._first_error = answer

    def _begin(self, number: int) -> None:
        if number > self._last_round:
            self._last_round = number
            self._answers = {}
            self._first_error = None


def _exception_of(answer: Answer) -> BaseException:
    trace = WorkerTraceback(answer.error_text)
    if answer.error is None:
        return trace
    try:
        error: BaseException = pickle.loads(answer.error)
    except Exception:  # its class cannot be made again here
        return trace
    error.__cause__ = trace
    return error
