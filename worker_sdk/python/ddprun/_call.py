"""What each worker of ddprun.launch() runs: python -m ddprun._call. It gets the function from the process
that has started the job, calls it, and sends back what it returned or raised."""

from __future__ import annotations

import inspect
import io
import os
import pickle
import runpy
import signal
import socket
import sys
import threading
import time
import traceback
import types
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from ddprun._wire import Wire, WireError, keep_alive
from ddprun._worker import PARKED, RANK, RESTART_COUNT, ROUND, WORLD_SIZE, whole_number

VARIABLE = "DDPRUN_CALL"  # HOST PORT KEY: where the process that has started the job listens
CONNECT_SECONDS = 30.0
END_SECONDS = 30.0  # between SIGTERM and SIGKILL, when the process that has started the job is gone
MAIN = "__ddprun_main__"  # the script's name on workers


class Place(NamedTuple):
    """Where a worker is in the job."""

    round: int  # 0: it is of none yet
    rank: int
    world_size: int

    @classmethod
    def now(cls) -> Place:
        """An elastic loop changes it from round to round."""
        number = whole_number(ROUND, whole_number(RESTART_COUNT, 0) + 1)
        return cls(number, whole_number(RANK, 0), whole_number(WORLD_SIZE, 1))


class Main(NamedTuple):
    """The script whose names a function may use, as `__main__`."""

    module: str  # as python -m has it; "": it is a file
    path: str


class Call(NamedTuple):
    """What a worker needs before it can read the function."""

    path: List[str]  # sys.path
    main: Optional[Main]  # None: the function needs none
    needs_cloudpickle: bool
    pickled: bytes  # (function, arguments)


class Answer(NamedTuple):
    """How the function has ended."""

    place: Place
    result: Optional[bytes]  # pickled; None: it has raised an exception
    error: Optional[bytes] = None  # the exception, pickled; None: it cannot be
    error_text: str = ""  # its traceback


def name_of(function: Callable[..., Any]) -> str:
    return f"{getattr(function, '__name__', repr(function))}()"


def check_arguments(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> None:
    """Raises TypeError where the function does not take them: workers would only find that out later."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # A function in C may not say what it takes.
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise TypeError(f"{name_of(function)} does not take these arguments: {error}") from None


def _code_in_file(file: str, make: Callable[..., types.CodeType], arguments: Tuple[Any, ...]) -> types.CodeType:
    return make(*arguments).replace(co_filename=file)


def _dumps_with_files(cloudpickle: Any) -> Callable[[Any], bytes]:
    """cloudpickle.dumps, but tracebacks of what it sends name the file: cloudpickle says "<dynamic-code>"."""

    class Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            reduce = self.dispatch_table.get(types.CodeType) if isinstance(value, types.CodeType) else None
            if reduce is None:
                return super().reducer_override(value)
            return _code_in_file, (value.co_filename, *reduce(value))

    def dumps(value: Any) -> bytes:
        file = io.BytesIO()
        Pickler(file).dump(value)
        return file.getvalue()

    return dumps


def dump_call(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> Call:
    """Raises TypeError where the function cannot be sent."""
    try:
        import cloudpickle

        dumps, has_cloudpickle = _dumps_with_files(cloudpickle), True
    except ImportError:
        dumps, has_cloudpickle = pickle.dumps, False
    try:
        pickled = dumps((function, arguments))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        advice = "" if has_cloudpickle else ": define the function at the top level of a module, or install cloudpickle"
        raise TypeError(f"{function!r} and its arguments cannot be sent to workers ({error}){advice}") from error
    needs_main = not has_cloudpickle and (b"__main__" in pickled or MAIN.encode() in pickled)
    return Call(list(sys.path), _main() if needs_main else None, has_cloudpickle, pickled)


def _main() -> Main:
    """Lets what comes back from workers name the script, too."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    path = os.path.abspath(getattr(main, "__file__", None) or "")
    if spec is None and not os.path.isfile(path):
        raise TypeError("the function is defined where workers cannot import it (a notebook, a prompt or standard "
                        "input): install cloudpickle, or define it in a module")
    sys.modules.setdefault(MAIN, main)
    return Main(spec.name if spec else "", path)


def load_call(call: Call) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
    """Raises ImportError where this Python lacks something that the function needs."""
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


def _become_main(main: Main) -> None:
    """Makes the names of a script those of `__main__`, as multiprocessing does. Its part under
    `if __name__ == "__main__"` is not run."""
    names = runpy.run_module(main.module, run_name=MAIN) if main.module else runpy.run_path(main.path, run_name=MAIN)
    module = types.ModuleType(MAIN)
    module.__dict__.update(names)
    sys.modules["__main__"] = sys.modules[MAIN] = module


def dump_result(result: Any, by_cloudpickle: bool) -> bytes:
    if by_cloudpickle:
        import cloudpickle

        pickled: bytes = cloudpickle.dumps(result)
        return pickled
    return pickle.dumps(result)


def dump_result_of(function: Callable[..., Any], result: Any, by_cloudpickle: bool) -> bytes:
    try:
        return dump_result(result, by_cloudpickle)
    except Exception as error:
        raise TypeError(f"the result of {name_of(function)} cannot be sent back: {error}") from error


def answer_with(error: BaseException, by_cloudpickle: bool) -> Answer:
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickled = dump_result(error, by_cloudpickle)
        pickle.loads(pickled)  # an exception may be written that nobody can read
    except Exception:
        return Answer(Place.now(), None, None, text)
    return Answer(Place.now(), None, pickled, text)


def _connect() -> Wire:
    host, port, key = os.environ.pop(VARIABLE).split(" ")
    try:
        connection = socket.create_connection((host, int(port)), CONNECT_SECONDS)
        wire = Wire.connect(connection, bytes.fromhex(key))
    except (OSError, WireError) as error:
        raise SystemExit(f"ddprun: the process that has started this job cannot be reached at {host} port {port} "
                         f"({error}): launch(address=...) says where it is") from error
    connection.settimeout(None)
    keep_alive(connection)
    return wire


def _end_with_starter(wire: Wire) -> None:
    """The starter of the job sends nothing more. When it is gone, nothing waits for the result."""
    try:
        wire.receive(0)
    except (OSError, WireError):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    wire = _connect()
    place = Place.now()
    wire.send(pickle.dumps(place._replace(round=0) if os.environ.get(PARKED) else place))
    message = wire.receive()
    if message is None:
        raise SystemExit("ddprun: the process that has started this job is gone")
    call: Call = pickle.loads(message)
    threading.Thread(target=_end_with_starter, args=(wire,), daemon=True).start()
    try:
        function, arguments = load_call(call)
        result = dump_result_of(function, function(*arguments), call.needs_cloudpickle)
    except Exception as error:
        wire.send(pickle.dumps(answer_with(error, call.needs_cloudpickle)))
        raise
    wire.send(pickle.dumps(Answer(Place.now(), result)))


if __name__ == "__main__":
    # Functions of the calling script may be pickled as those of `__main__`, which is then another module.
    from ddprun import _call

    _call.main()
