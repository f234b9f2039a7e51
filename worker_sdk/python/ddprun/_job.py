"""Starts a job from Python: launch() calls a function on all workers and returns what it returned there."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Dict, Generator, IO, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ddprun import _call
from ddprun.__main__ import find_program
from ddprun._call import Answer, Call, Worker
from ddprun._wire import Wire, WireError

Hosts = Union[str, Sequence[str], None]

STOP_SECONDS = 60.0  # ddprun kills workers 30 s after it has asked them to end
LAST_WORDS_SECONDS = 10.0  # for what workers sent before they ended
USAGE_CODE = 2  # ddprun's exit code for a command line that is not valid
HELLO_SECONDS = 30.0
HELLO_BYTES_MAX = 1 << 16


class LaunchError(RuntimeError):
    """A job has failed. Where a worker has raised an exception, that is its `__cause__`.

    `exit_code` is ddprun's, `ranks` are those that were the cause, where that is known, and `report` is what
    --report-file has of the failure; None where there is none, as with hosts.
    """

    def __init__(self, message: str, exit_code: int, ranks: Sequence[int] = (),
                 report: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.ranks = list(ranks)
        self.report = report


class WorkerTraceback(Exception):
    """The traceback of an exception as the worker saw it, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


class _Answers:
    """Hands the function to workers and takes their answers, each in a thread of its own."""

    def __init__(self, call: Call, key: bytes, host: str) -> None:
        self._call = pickle.dumps(call)
        self._key = key
        self._lock = threading.Lock()
        self._answers: Dict[int, Tuple[Worker, Answer]] = {}  # by rank; a later attempt's replaces the former's
        self._first_error: Dict[int, Tuple[Worker, Answer]] = {}  # by attempt
        self._threads: List[threading.Thread] = []
        self._socket = socket.create_server((host, 0), backlog=1024)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                self._talk(connection)
        except (OSError, WireError, pickle.UnpicklingError):
            pass  # somebody else's connection, or a worker that was killed: ddprun says so

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(HELLO_SECONDS)
        wire = Wire.accept(connection, self._key)
        hello = wire.receive(HELLO_BYTES_MAX)
        if hello is None:
            return
        worker: Worker = pickle.loads(hello)
        wire.send(self._call)
        connection.settimeout(None)
        message = wire.receive()
        if message is not None:
            self._take(worker, pickle.loads(message))
            wire.receive(0)  # its end: a worker whose connection ends before takes that for the job's

    def _take(self, worker: Worker, answer: Answer) -> None:
        with self._lock:
            known = self._answers.get(worker.rank)
            if known is None or known[0].attempt <= worker.attempt:
                self._answers[worker.rank] = (worker, answer)
            if answer.result is None:
                self._first_error.setdefault(worker.attempt, (worker, answer))

    def close(self) -> None:
        """All workers have ended: waits for what they have sent before."""
        self._socket.close()
        deadline = time.monotonic() + LAST_WORDS_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def results(self) -> Tuple[List[Any], List[int]]:
        """What the function returned on each rank, and the ranks that have not told."""
        good = [worker for worker, answer in self._answers.values() if answer.result is not None]
        if not good:
            return [], [0]
        size = max(good, key=lambda worker: worker.attempt).world_size
        missing = [rank for rank in range(size)
                   if rank not in self._answers or self._answers[rank][1].result is None]
        if missing:
            return [], missing
        return [pickle.loads(self._answers[rank][1].result or b"") for rank in range(size)], []

    def error(self, ranks: Sequence[int]) -> Optional[Tuple[int, BaseException]]:
        """The exception of one of these ranks, else the first one that was told in the last attempt."""
        for rank in ranks:
            if rank in self._answers and self._answers[rank][1].result is None:
                return rank, _exception_of(self._answers[rank][1])
        if ranks or not self._first_error:
            return None
        worker, answer = self._first_error[max(self._first_error)]
        return worker.rank, _exception_of(answer)


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


def _words(options: Mapping[str, Any]) -> List[str]:
    """{"hang_timeout": 60, "warm": True} as ["--hang-timeout=60", "--warm"]."""
    words = []
    for name, value in options.items():
        word = "--" + name.replace("_", "-")
        if value is True:
            words.append(word)
        elif isinstance(value, (list, tuple)):
            words.append(f"{word}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            words.append(f"{word}={value}")
    return words


def _own_address(hosts: Hosts, address: Optional[str]) -> Tuple[str, str]:
    """Where this process listens, and where workers find it."""
    if address is not None:
        return "", address
    if hosts is None:
        return "127.0.0.1", "127.0.0.1"
    first = (hosts if isinstance(hosts, str) else hosts[0]).split(",")[0].split(":")[0].rpartition("@")[2]
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((first, 9))  # sends nothing
            return "", probe.getsockname()[0]
    except OSError:
        return "", socket.gethostname()


def _is_ours(stream: Optional[IO[str]], number: int) -> bool:
    """Whether what a child writes to that descriptor shows where Python's stream does."""
    try:
        return stream is not None and stream.fileno() == number
    except (OSError, ValueError, AttributeError):
        return False


class Job:
    """A job that runs. `with` and `await` wait for its results, as wait() does."""

    def __init__(self, call: Call, words: Sequence[str], environment: Mapping[str, str], hosts: Hosts,
                 address: Optional[str]) -> None:
        listens_at, found_at = _own_address(hosts, address)
        key = secrets.token_bytes(32)
        self._folder = tempfile.TemporaryDirectory(prefix="ddprun-launch-")
        self._report = Path(self._folder.name) / "report.json"
        self._answers = _Answers(call, key, listens_at)
        here = f"{found_at} {self._answers.port} {key.hex()}"
        module_path = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, [module_path, os.environ.get("PYTHONPATH", "")]))
        self._ours = {"PYTHON_EXEC": sys.executable, **environment, "PYTHONPATH": path, _call.VARIABLE: here}
        command = [find_program(), *words]
        if hosts is None:
            command.append(f"--report-file={self._report}")
        else:
            command.append("--hosts=" + (hosts if isinstance(hosts, str) else ",".join(hosts)))
            for name in (*environment, "PYTHONPATH", _call.VARIABLE):
                command += ["-x", name]
        self._pumps: List[threading.Thread] = []
        self._process = self._start([*command, "-m", "ddprun._call"])
        self._ended: Optional[List[Any]] = None
        self._stop_at_exit = weakref.finalize(self, _stop, self._process, signal.SIGTERM)

    @property
    def pid(self) -> int:
        """The process of ddprun, which `ddprun ls`, `status` and `logs` know as well."""
        return self._process.pid

    def wait(self, timeout: Optional[float] = None) -> List[Any]:
        """Returns what the function returned, by rank.

        Raises LaunchError where the job has failed, and TimeoutError where it has not ended within `timeout`
        seconds: then it is stopped. An interrupt (Ctrl-C) stops it as well, and goes on.
        """
        if self._ended is not None:
            return self._ended
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise TimeoutError(f"the job has not ended within {timeout:g} s, and was stopped") from None
        except KeyboardInterrupt:
            self.stop(signal.SIGINT)
            raise
        self._clean_up()
        self._ended = self._results(code)
        return self._ended

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stops the job by that signal, and waits until nothing of it runs. Does nothing where it has ended."""
        _stop(self._process, number)
        self._clean_up()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is not None:
            self.stop()
        elif self._stop_at_exit.alive:
            self.wait()

    def __await__(self) -> Generator[Any, None, List[Any]]:
        return self._wait_in_thread().__await__()

    async def _wait_in_thread(self) -> List[Any]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(None, self.wait)
        except asyncio.CancelledError:
            self._process.send_signal(signal.SIGTERM)
            raise

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        """In a notebook and in a test, what workers print goes to where print() goes, too."""
        streams = [(sys.stdout, 1), (sys.stderr, 2)]
        pipes = [None if _is_ours(stream, number) else subprocess.PIPE for stream, number in streams]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipes[0], stderr=pipes[1],
                                   env={**os.environ, **self._ours})
        for (stream, _), pipe in zip(streams, (process.stdout, process.stderr)):
            if pipe is not None:
                self._pumps.append(threading.Thread(target=_pump, args=(pipe, stream), daemon=True))
                self._pumps[-1].start()
        return process

    def _clean_up(self) -> None:
        if not self._stop_at_exit.alive:
            return
        self._stop_at_exit.detach()
        for pump in self._pumps:
            pump.join(LAST_WORDS_SECONDS)
        self._answers.close()
        try:
            self._failure = json.loads(self._report.read_text())
        except (OSError, ValueError):
            self._failure = None
        self._folder.cleanup()

    def _results(self, code: int) -> List[Any]:
        if code == USAGE_CODE:
            raise ValueError("ddprun has refused its options: its message says why")
        if code == 0:
            results, missing = self._answers.results()
            if not missing:
                return results
            raise LaunchError(f"rank {missing[0]} has ended without a result, by os._exit() or sys.exit()", code,
                              missing)
        cause = (self._failure or {}).get("cause", {})
        found = self._answers.error(cause.get("ranks", []))
        ranks = cause.get("ranks") or ([found[0]] if found else [])
        sentence = cause.get("sentence") or (self._failure or {}).get("sentence")
        if sentence is None:
            sentence = f"rank {found[0]} has failed" if found else f"ddprun has ended with code {code}"
        if cause.get("hint"):
            sentence += f" ({cause['hint']})"
        raise LaunchError(sentence, code, ranks, self._failure) from (found[1] if found else None)


def _stop(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is not None:
        return
    process.send_signal(number)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # workers die with it
        process.wait()


def _pump(pipe: IO[bytes], stream: IO[str]) -> None:
    with pipe:
        for line in pipe:
            stream.write(line.decode(errors="replace"))
            stream.flush()


def start(function: Callable[..., Any], *arguments: Any, nproc_per_node: Union[int, str] = 1,
          hosts: Hosts = None, max_restarts: int = 0, env: Optional[Mapping[str, str]] = None,
          address: Optional[str] = None, **options: Any) -> Job:
    """Starts a job as launch() does, and does not wait for it. Raises TypeError where the function or its
    arguments cannot be sent, and FileNotFoundError where there is no ddprun."""
    words = _words({"nproc_per_node": nproc_per_node, "max_restarts": max_restarts, **options})
    return Job(_call.dump_call(function, arguments), words, dict(env or {}), hosts, address)


def launch(function: Callable[..., Any], *arguments: Any, nproc_per_node: Union[int, str] = 1,
           hosts: Hosts = None, max_restarts: int = 0, timeout: Optional[float] = None,
           env: Optional[Mapping[str, str]] = None, address: Optional[str] = None, **options: Any) -> List[Any]:
    """Calls function(*arguments) on all workers of a new job, and returns what it returned, by rank.

    Workers have RANK, WORLD_SIZE, MASTER_ADDR and all else that ddprun sets, so that
    torch.distributed.init_process_group() works in the function. Their output shows here.

    hosts: where to run, as in --hosts: "h1,h2:8" or a list; None: on this machine. address: where the hosts
    reach this process, if not at the address that leads to the first of them.
    env: variables that workers have besides those of this process (with hosts: these alone).
    options: any option of ddprun, as hang_timeout=60, warm=True or tee=3.

    The function is sent by cloudpickle where that is installed, and else by its name: workers import its
    module, which has to be one that they find.

    Raises LaunchError where the job has failed, with the exception of the rank that was the cause as its
    `__cause__`; ValueError where ddprun does not know an option; TimeoutError where it has not ended within `timeout` seconds; TypeError where the function
    cannot be sent; FileNotFoundError where there is no ddprun. In each case nothing of the job is left.
    """
    job = start(function, *arguments, nproc_per_node=nproc_per_node, hosts=hosts, max_restarts=max_restarts,
                env=env, address=address, **options)
    try:
        return job.wait(timeout)
    except BaseException:
        job.stop()
        raise
