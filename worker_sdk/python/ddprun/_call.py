"""What each worker of ddprun.launch() runs: python -m ddprun._call. It gets the function from the process
that has started the job, calls it, and sends back what it returned or raised."""

from __future__ import annotations

import os
import pickle
import runpy
import signal
import socket
import sys
import threading
import traceback
import types
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from ddprun._wire import Wire, WireError
from ddprun._worker import RANK, RESTART_COUNT, WORLD_SIZE, whole_number

VARIABLE = "DDPRUN_CALL"  # HOST PORT KEY: where the process that has started the job listens
CONNECT_SECONDS = 30.0


class Call(NamedTuple):
    """What a worker needs before it can read the function."""

    path: List[str]  # sys.path
    main: Optional[str]  # the script whose names the function may use, as `__main__`; None: it needs none
    needs_cloudpickle: bool
    pickled: bytes  # (function, arguments)


class Worker(NamedTuple):
    """A worker's first message."""

    rank: int
    world_size: int
    attempt: int


class Answer(NamedTuple):
    """How the function has ended."""

    result: Optional[bytes]  # pickled; None: it has raised an exception
    error: Optional[bytes] = None  # the exception, pickled; None: it cannot be
    error_text: str = ""  # its traceback


def dump_call(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Call:
    """Raises TypeError where the function cannot be sent."""
    try:
        import cloudpickle

        return Call(list(sys.path), None, True, cloudpickle.dumps((function, arguments)))
    except ImportError:
        pass
    try:
        pickled = pickle.dumps((function, arguments))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"{function!r} and its arguments cannot be sent to workers ({error}): define the function at the "
            "top level of a module, or install cloudpickle"
        ) from error
    main = None
    if getattr(function, "__module__", None) == "__main__":
        main = getattr(sys.modules["__main__"], "__file__", None)
        if main is None:
            raise TypeError(
                f"{function!r} is defined where workers cannot import it (a notebook or a prompt): install "
                "cloudpickle, or define it in a module"
            )
        main = os.path.abspath(main)
    return Call(list(sys.path), main, False, pickled)


def load_call(call: Call) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
    sys.path[:] = call.path + [entry for entry in sys.path if entry not in call.path]
    if call.main is not None:
        _become_main(call.main)
    if call.needs_cloudpickle:
        try:
            import cloudpickle  # noqa: F401
        except ImportError as error:
            raise ImportError("the function was sent by cloudpickle, which this Python does not have") from error
    function, arguments = pickle.loads(call.pickled)
    return function, arguments


def _become_main(path: str) -> None:
    """Makes the names of a script those of `__main__`, as multiprocessing does. Its part under
    `if __name__ == "__main__"` is not run."""
    module = types.ModuleType("__ddprun_main__")
    module.__file__ = path
    module.__dict__.update(runpy.run_path(path, run_name="__ddprun_main__"))
    sys.modules["__main__"] = sys.modules["__ddprun_main__"] = module


def dump_result(result: Any, by_cloudpickle: bool) -> bytes:
    if by_cloudpickle:
        import cloudpickle

        pickled: bytes = cloudpickle.dumps(result)
        return pickled
    return pickle.dumps(result)


def answer_with(error: BaseException, by_cloudpickle: bool) -> Answer:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickled = dump_result(error, by_cloudpickle)
        pickle.loads(pickled)  # an exception may be written that nobody can read
    except Exception:
        return Answer(None, None, text)
    return Answer(None, pickled, text)


def _connect() -> Wire:
    host, port, key = os.environ.pop(VARIABLE).split(" ")
    connection = socket.create_connection((host, int(port)), CONNECT_SECONDS)
    connection.settimeout(None)
    return Wire.connect(connection, bytes.fromhex(key))


def _end_with_starter(wire: Wire) -> None:
    """Whoever has started the job says nothing more. When it is gone, nobody wants the result."""
    try:
        wire.receive(0)
    except (OSError, WireError):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    wire = _connect()
    worker = Worker(whole_number(RANK, 0), whole_number(WORLD_SIZE, 1), whole_number(RESTART_COUNT, 0))
    wire.send(pickle.dumps(worker))
    message = wire.receive()
    if message is None:
        raise SystemExit("ddprun: the process that has started this job is gone")
    call: Call = pickle.loads(message)
    threading.Thread(target=_end_with_starter, args=(wire,), daemon=True).start()
    try:
        function, arguments = load_call(call)
        answer = Answer(dump_result(function(*arguments), call.needs_cloudpickle))
    except Exception as error:
        wire.send(pickle.dumps(answer_with(error, call.needs_cloudpickle)))
        raise
    wire.send(pickle.dumps(answer))


if __name__ == "__main__":
    # Functions of the calling script may be pickled as those of `__main__`, which is then another module.
    from ddprun import _call

    _call.main()
