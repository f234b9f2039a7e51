"""Starts a job from Python: launch() calls a function on all workers and returns what it returned there."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import difflib
import json
import os
import re
import secrets
import signal
import site
import socket
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Dict, Generator, IO, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ddprun import _call
from ddprun.__main__ import find_program
from ddprun._answers import Answers
from ddprun._call import Call

Hosts = Union[str, Sequence[str], None]

SHUTDOWN_SECONDS = 30.0  # between SIGTERM and SIGKILL for workers, as --shutdown-timeout has it
STOP_SECONDS = 30.0  # ddprun itself has this long beside that
PUMP_SECONDS = 10.0  # for output that workers wrote before they ended
RESULTS_SECONDS = 600.0  # for results that are still read when all workers have ended well
ERRORS_SECONDS = 10.0  # for errors that are still read when the job has failed
PIECE_BYTES = 1 << 16  # the most that is read of output at a time
HELP_SECONDS = 30.0  # for ddprun --help, which takes milliseconds where a disk does not hang
USAGE_CODE = 2  # ddprun's exit code for a command line that is not valid
OF_SEVERAL_NODES = ("nnodes", "hostfile", "node_rank", "master_addr", "master_port", "rdzv_backend", "rdzv_endpoint")


class LaunchError(RuntimeError):
    """A job has failed. If a worker has raised an exception, that is its `__cause__`.

    `exit_code` is ddprun's, `ranks` are those that were the cause, and `report` is what --report-file has of the
    failure. If no report came, as when ddprun was killed, `__cause__` is the first exception that was reported, and
    `ranks` the rank that reported it.
    """

    def __init__(self, message: str, exit_code: int, ranks: Sequence[int] = (),
                 report: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.ranks = list(ranks)
        self.report = report


def _check_names(options: Mapping[str, Any]) -> None:
    """Raises TypeError where ddprun has no option of such a name. In a command line it may be abbreviated."""
    if not options:
        return
    shown = subprocess.run([find_program(), "--help"], stdout=subprocess.PIPE, text=True, timeout=HELP_SECONDS).stdout
    known = [name.replace("-", "_") for name in re.findall(r"^  (?:-\w, *)*--([a-z][a-z0-9-]*)", shown, re.MULTILINE)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise TypeError(f"ddprun has no option {name!r}: " + (f"did you mean {near[0]!r}?" if near else
                            "if it is an argument of the function, pass it by position"))


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


def _seconds(time: Any) -> float:
    """60 of "1m", "60s" or 60. What is no time, ddprun refuses."""
    text = str(time)
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}.get(text[-1:], 0)
    try:
        return unit * float(text[:-1]) if unit else float(text)
    except ValueError:
        return SHUTDOWN_SECONDS


def _names_of(hosts: Hosts) -> List[str]:
    """["h1", "fd77::1"] of "me@h1:8,[fd77::1]:2"."""
    names = []
    for entry in (hosts or "") if isinstance(hosts, (list, tuple)) else (hosts or "").split(","):
        name = entry.strip().rpartition("@")[2]
        names.append(name[1 : name.index("]")] if name.startswith("[") and "]" in name else name.split(":")[0])
    return names


def _address_towards(host: str) -> Optional[str]:
    """This machine's address on the way to the host; None where that cannot be said."""
    with contextlib.suppress(OSError):
        for family, kind, _, _, address in socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(family, kind) as probe:
                probe.connect(address)  # sends nothing
                return str(probe.getsockname()[0])
    return None


def _own_address(hosts: Hosts, address: Optional[str]) -> Tuple[str, str]:
    """Where this process listens, and where workers find it. One of the hosts may be this machine."""
    if address is not None:
        return "", address
    if hosts is None:
        return "127.0.0.1", "127.0.0.1"
    ways = [way for way in map(_address_towards, _names_of(hosts)) if way is not None]
    outside = [way for way in ways if not way.startswith("127.") and way != "::1"]
    return "", (outside or ways or [socket.gethostname()])[0]


def _module_path(users: str) -> str:
    """PYTHONPATH by which workers find this module. One that is installed they find by themselves."""
    folder = str(Path(__file__).resolve().parent.parent)
    installed = folder in map(os.path.realpath, [*site.getsitepackages(), site.getusersitepackages()])
    return users if installed else os.pathsep.join(filter(None, [users, folder]))


def _is_ours(stream: Optional[IO[str]], number: int) -> bool:
    """Whether what a child writes to that descriptor shows where Python's stream does."""
    try:
        return stream is not None and stream.fileno() == number
    except (OSError, ValueError, AttributeError):
        return False


class Job:
    """A job that runs. `with` and `await` wait for its results, as wait() does."""

    def __init__(self, call: Call, words: Sequence[str], environment: Mapping[str, str], hosts: Hosts,
                 address: Optional[str], stop_seconds: float) -> None:
        program = find_program()
        listens_at, found_at = _own_address(hosts, address)
        key = secrets.token_bytes(32)
        self._lock = threading.Lock()  # for the end
        self._ended: Optional[List[Any]] = None
        self._failure: Optional[Dict[str, Any]] = None
        self._stop_seconds = stop_seconds
        self._pumps: List[threading.Thread] = []
        self._answers = Answers(call, key, listens_at)
        self._reports: List[bytes] = []  # the report, in pieces, behind those of hangs that are over
        users_path = environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        ours = {"PYTHON_EXEC": sys.executable, **environment, "PYTHONPATH": _module_path(users_path),
                _call.VARIABLE: f"{found_at} {self._answers.port} {key.hex()}"}
        command = [program, *words, "--no-torchrun-block"]
        if hosts is None:
            command.append("--standalone")
        else:
            command.append("--hosts=" + (hosts if isinstance(hosts, str) else ",".join(hosts)))
            for name in dict.fromkeys((*environment, "PYTHONPATH", _call.VARIABLE)):
                command += ["-x", name]
        try:
            self._process = self._start(command, ours)
        except BaseException:
            self._answers.close(0)
            raise
        self._stop_at_exit = weakref.finalize(self, _abandon, self._process, self._answers)

    @property
    def pid(self) -> int:
        """The process of ddprun, which `ddprun ls`, `status` and `logs` know as well."""
        return self._process.pid

    def wait(self, timeout: Optional[float] = None) -> List[Any]:
        """Returns what the function returned, by rank.

        Raises LaunchError where the job has failed, and TimeoutError where it has not ended within `timeout`
        seconds: then it is stopped. An interrupt (Ctrl-C) stops it as well, and goes on.
        """
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise TimeoutError(f"the job has not ended within {timeout:g} s, and was stopped") from None
        except KeyboardInterrupt:
            self.stop(signal.SIGINT)
            raise
        with self._lock:
            self._clean_up()
            if self._ended is None:
                self._ended = self._results(code)
            return self._ended

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stops the job by that signal, and waits until nothing of it runs. Does nothing where it has ended."""
        _stop(self._process, number, self._stop_seconds)
        with self._lock:
            self._clean_up()

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is not None:
            self.stop()
        else:
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

    def _start(self, command: Sequence[str], ours: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """In a notebook and in a test, what workers print goes to where print() goes, too. The report comes by a
        pipe: whatever kills this process, no file of it stays. Ctrl-C is for this process, which hands it on: two
        of them would take the workers' time to end."""
        streams = [(sys.stdout, 1), (sys.stderr, 2)]
        pipes = [None if _is_ours(stream, number) else subprocess.PIPE for stream, number in streams]
        reports, written = os.pipe()
        try:
            process = subprocess.Popen([*command, f"--report-file=/dev/fd/{written}", "-m", "ddprun._call"],
                                       stdin=subprocess.DEVNULL, stdout=pipes[0], stderr=pipes[1],
                                       env={**os.environ, **ours}, start_new_session=True, pass_fds=(written,))
        except BaseException:
            os.close(reports)
            raise
        finally:
            os.close(written)
        self._pump_by(_gather, os.fdopen(reports, "rb"), self._reports)
        for (stream, _), pipe in zip(streams, (process.stdout, process.stderr)):
            if pipe is not None:
                self._pump_by(_pump, pipe, stream)
        return process

    def _pump_by(self, pump: Callable[..., None], *arguments: Any) -> None:
        self._pumps.append(threading.Thread(target=pump, args=arguments, daemon=True))
        self._pumps[-1].start()

    def _clean_up(self) -> None:
        """Once; the job has ended."""
        if not self._stop_at_exit.alive:
            return
        for pump in self._pumps:
            pump.join(PUMP_SECONDS)
        self._answers.close(RESULTS_SECONDS if self._process.returncode == 0 else ERRORS_SECONDS)
        self._failure = _last_report(b"".join(self._reports))
        self._stop_at_exit.detach()

    def _results(self, code: int) -> List[Any]:
        if code == USAGE_CODE and not self._answers.heard():  # else a worker has ended with it
            raise ValueError("ddprun has refused its options: its message says why")
        if code == 0 and not self._answers.heard():
            return []  # no worker was to start, as with --dry-run
        if code == 0:
            results, missing = self._answers.results()
            if not missing:
                return results
            raise LaunchError(f"rank {missing[0]} has ended without a result, by os._exit() or sys.exit()", code,
                              missing)
        failure = self._failure or {}
        cause = failure.get("cause", {})
        ranks = cause.get("ranks", [])
        found = self._answers.error(ranks)
        if found and not ranks:
            ranks = [found[0]]
        sentence = cause.get("sentence") or failure.get("sentence")
        if sentence is None and found:
            sentence = f"the job has failed; rank {found[0]} was the first to tell an error"
        if sentence is None:
            sentence = f"ddprun has ended with code {code}"
        if cause.get("hint"):
            sentence += f" ({cause['hint']})"
        raise LaunchError(sentence, code, ranks, self._failure) from (found[1] if found else None)


def _stop(process: subprocess.Popen[bytes], number: int, seconds: float) -> None:
    if process.poll() is not None:
        return
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()  # workers die with it
        process.wait()


def _abandon(process: subprocess.Popen[bytes], answers: Answers) -> None:
    """Nobody waits for the job any more."""
    _stop(process, signal.SIGTERM, SHUTDOWN_SECONDS + STOP_SECONDS)
    answers.close(0)


def _pump(pipe: IO[bytes], stream: Optional[IO[str]]) -> None:
    """Reads to the end, also where nobody takes what is written: a worker would wait for ever. What has come shows at
    once: a progress bar ends no line."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with pipe:
        for piece in iter(lambda: os.read(pipe.fileno(), PIECE_BYTES), b""):
            text = decoder.decode(piece)
            with contextlib.suppress(OSError, ValueError, AttributeError):
                encoding = getattr(stream, "encoding", None) or "utf-8"
                stream.write(text.encode(encoding, "replace").decode(encoding))  # type: ignore[union-attr]
                stream.flush()  # type: ignore[union-attr]


def _gather(pipe: IO[bytes], pieces: List[bytes]) -> None:
    with pipe:
        for piece in pipe:
            pieces.append(piece)


def _last_report(text: bytes) -> Optional[Dict[str, Any]]:
    """None where none came, as when ddprun was killed."""
    last, rest = None, text.decode(errors="replace").lstrip()
    while rest:
        try:
            last, end = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            break
        rest = rest[end:].lstrip()
    return last


def start(function: Callable[..., Any], *arguments: Any, nproc_per_node: Union[int, str] = 1,
          hosts: Hosts = None, max_restarts: int = 0, env: Optional[Mapping[str, str]] = None,
          address: Optional[str] = None, **options: Any) -> Job:
    """Starts a job as launch() does, and does not wait for it. Raises TypeError where ddprun has no option of a name,
    or where the function does not take its arguments or cannot be sent; ValueError for options of several nodes without `hosts`, and FileNotFoundError
    where there is no ddprun."""
    foreign = [name for name in OF_SEVERAL_NODES if name in options and (hosts is None or name == "hostfile")]
    if foreign:
        raise ValueError(f"{foreign[0]} is for jobs that each node starts; launch() runs here, or on `hosts`")
    _call.check_arguments(function, arguments)
    _check_names(options)
    words = _words({"nproc_per_node": nproc_per_node, "max_restarts": max_restarts, **options})
    seconds = _seconds(options.get("shutdown_timeout", SHUTDOWN_SECONDS)) + STOP_SECONDS
    return Job(_call.dump_call(function, arguments), words, dict(env or {}), hosts, address, seconds)


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
    `__cause__`; ValueError where ddprun refuses the value of an option; TimeoutError where the job has not ended within
    `timeout` seconds; TypeError where there is no such option, or where the function does not take its arguments or
    cannot be sent; FileNotFoundError where there is no ddprun.
    In each case nothing of the job is left.
    """
    job = start(function, *arguments, nproc_per_node=nproc_per_node, hosts=hosts, max_restarts=max_restarts,
                env=env, address=address, **options)
    try:
        return job.wait(timeout)
    except BaseException:
        job.stop()
        raise
