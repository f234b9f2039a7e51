"""ddprun-wrap: runs a tool that starts torchrun, such as `accelerate launch`, with ddprun in torchrun's place.

The tool and what it starts find another program `torchrun` in their PATH, and in Python a module
torch.distributed.run whose run() starts ddprun. Both are in the folder _wrapped.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, Callable, Dict, List, NoReturn, Optional

from ddprun.__main__ import find_program

WRAPPED = Path(__file__).resolve().parent / "_wrapped"
SET_PARENT_DEATH_SIGNAL = 1  # An operation of prctl(2)
PROGRAM = "DDPRUN_WRAP_PROGRAM"  # the path of ddprun, for the tool's processes

USAGE = """\
Usage: ddprun-wrap TOOL [ARGUMENTS...]

Runs a tool that starts torchrun, with ddprun in torchrun's place. The job has the same command line.

  ddprun-wrap accelerate launch --num_processes 2 train.py
  ddprun-wrap fabric run --devices 2 train.py
  ddprun-wrap python -m torch.distributed.run --nproc-per-node 2 train.py

Options of ddprun that the tool does not know are variables: PET_HANG_TIMEOUT=60 ddprun-wrap ...
"""


def _with(folder: Path, paths: Optional[str]) -> str:
    return os.pathsep.join(filter(None, [str(folder), paths]))


def _without(folder: Path, paths: Optional[str]) -> str:
    return os.pathsep.join(path for path in (paths or "").split(os.pathsep) if path and path != str(folder))


def wrapped_environment(program: str) -> Dict[str, str]:
    """That of the tool."""
    ours = dict(os.environ)
    ours[PROGRAM] = program
    ours["PATH"] = _with(WRAPPED / "bin", ours.get("PATH", os.defpath))
    ours["PYTHONPATH"] = _with(WRAPPED, ours.get("PYTHONPATH"))
    return ours


def job_environment(python: Optional[str]) -> Dict[str, str]:
    """That of ddprun and its workers, in which nothing is wrapped. As with torchrun, workers are run by the
    Python that runs it."""
    ours = dict(os.environ)
    if python is not None:
        ours.setdefault("PYTHON_EXEC", python)
    ours.pop(PROGRAM, None)
    for name, folder in (("PATH", WRAPPED / "bin"), ("PYTHONPATH", WRAPPED)):
        ours[name] = _without(folder, ours.get(name))
        if not ours[name]:
            del ours[name]
    return ours


def _program() -> str:
    return os.environ.get(PROGRAM) or find_program()


def torchrun_words(arguments: Namespace, parser: ArgumentParser) -> List[str]:
    """The command line that torchrun's parser reads as these arguments."""
    words: List[str] = []
    for action in parser._actions:
        if not action.option_strings or not hasattr(arguments, action.dest):
            continue
        value = getattr(arguments, action.dest)
        option = max(action.option_strings, key=len)
        if value is None or value == action.default:
            continue
        words.append(option if action.nargs == 0 else f"{option}={value}")
    return [*words, arguments.training_script, *arguments.training_script_args]


def _ends_with(parent: int) -> Callable[[], None]:
    """What a new process of `parent` calls: it gets SIGTERM when that one has ended, also by SIGKILL."""
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended before
            os._exit(128 + signal.SIGTERM)

    return ask


def run_job(program_words: List[str]) -> None:
    """Runs ddprun by that name and command line; where the job fails, this process ends with its exit code. With
    torchrun the tool would be the launcher itself, so the job ends with the tool."""
    sys.stdout.flush()
    job = subprocess.Popen(program_words, executable=_program(), env=job_environment(sys.executable),
                           preexec_fn=_ends_with(os.getpid()))
    code = _wait(job)
    if code != 0:
        sys.exit(code if code > 0 else 128 - code)


def _wait(job: "subprocess.Popen[bytes]") -> int:
    """Signals that would end this process are for the job. A terminal sends its own to both."""
    if threading.current_thread() is not threading.main_thread():
        return job.wait()
    before = {number: signal.signal(number, lambda signum, _: job.send_signal(signum))
              for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)}
    try:
        return job.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wrap_module(module: Any) -> None:
    """torch.distributed.run has been imported: its run(), which its main() calls, starts ddprun."""
    parser: Callable[[], ArgumentParser] = module.get_args_parser

    def run(arguments: Namespace) -> None:
        run_job([*name_for(getattr(arguments, "use_env", True)), *torchrun_words(arguments, parser())])

    module.run = run


def name_for(use_env: bool) -> List[str]:
    """torch.distributed.launch gives workers an argument --local-rank, unless its option asks for variables."""
    return ["ddprun-torchrun"] if use_env else ["ddprun", "launch"]


def run_as_torchrun(module: str = "torch.distributed.run", python: Optional[str] = sys.executable) -> NoReturn:
    """In place of `python -m` of that module, or of a program torchrun. `python`: that of its workers."""
    name = name_for(module != "torch.distributed.launch")
    os.execve(_program(), [*name, *sys.argv[1:]], job_environment(python))


def python_of_torchrun() -> Optional[str]:
    """The Python of the torchrun that the tool would have found; None where there is none."""
    found = shutil.which("torchrun", path=_without(WRAPPED / "bin", os.environ.get("PATH", os.defpath)))
    if found is None:
        return None
    with open(found, "rb") as script:
        line = script.readline(4096).decode(errors="replace")
    words = line[2:].split() if line.startswith("#!") else []
    return words[0] if words and "python" in os.path.basename(words[0]) else None


def main() -> NoReturn:
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if words else sys.stderr)
        sys.exit(0 if words else 2)
    try:
        environment = wrapped_environment(find_program())
    except FileNotFoundError as error:
        sys.exit(f"ddprun-wrap: {error}")
    try:
        os.execvpe(words[0], words, environment)
    except OSError as error:
        sys.exit(f"ddprun-wrap: {words[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
