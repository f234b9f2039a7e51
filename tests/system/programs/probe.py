"""Prints what a Python program can see of how it was started, one line for each thing."""

import __future__  # noqa: F401  (an import like any other)

import atexit
import gc
import json
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import threading
import traceback

import library  # found by PYTHONPATH; notes that it is imported


def of_main():
    return "pickled"


def look():
    main = sys.modules["__main__"]
    yield "argv", sys.argv
    yield "orig_argv", getattr(sys, "orig_argv", None)
    yield "path", sys.path
    yield "flags", str(sys.flags)
    yield "executable", sys.executable
    yield "main", sorted(key for key in vars(main) if key.startswith("__"))
    yield "file", [main.__file__, __name__, __package__, __spec__ and [__spec__.name, __spec__.origin], __doc__, str(main.__cached__)]
    yield "loader", [type(__loader__).__name__, getattr(__loader__, "path", None)]
    yield "is main", main.look is look
    yield "pickle", pickle.loads(pickle.dumps(of_main))()
    yield "environment", {k: v for k, v in os.environ.items()
                          if k not in ("MASTER_PORT", "DDPRUN_JOB", "DDPRUN_CONTROL", "DDPRUN_HEARTBEAT",
                                       "TORCHELASTIC_ERROR_FILE",
                                       "TORCHELASTIC_RUN_ID", "KUBEFLOW_TRAINER_SERVER_URL",
                                       "KUBEFLOW_TRAINER_SERVER_TOKEN", "_")}
    yield "of the agent", [bool(os.environ.get(k)) for k in ("DDPRUN_JOB", "DDPRUN_HEARTBEAT")]
    yield "handlers", {s.name: str(signal.getsignal(s)) for s in signal.Signals}
    yield "blocked", [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])]
    files = {int(f): f"/proc/self/fd/{f}" for f in os.listdir("/proc/self/fd")}
    # libffi keeps a file of its own open where somebody has imported ctypes, as --warm does.
    yield "files", sorted(f for f in files if os.path.exists(files[f]) and "libffi" not in os.readlink(files[f]))
    yield "leads", [os.getpid() == os.getpgid(0), os.getpid() == os.getsid(0)]
    yield "cwd", os.getcwd()
    yield "limits", resource.getrlimit(resource.RLIMIT_NOFILE)
    yield "threads", [len(os.listdir("/proc/self/task")), threading.current_thread().name,
                      threading.main_thread() is threading.current_thread()]
    yield "streams", [[f.fileno(), f.isatty(), f.encoding, f.line_buffering, f.write_through]
                      for f in (sys.stdin, sys.stdout, sys.stderr)]
    yield "name", open("/proc/self/comm").read()
    yield "shown", open("/proc/self/cmdline", errors="surrogateescape").read().replace("\0", " ").split()
    yield "cpus", sorted(os.sched_getaffinity(0))
    yield "hooks", [sys.excepthook is sys.__excepthook__, str(os.environ.__class__), gc.isenabled()]
    yield "start methods", multiprocessing.get_all_start_methods()
    yield "umask", os.umask(0o22)
    yield "library", library.__file__


def main():
    for what, value in look():
        print(f"{what}: {json.dumps(value, sort_keys=True)}")
    atexit.register(print, "atexit: ran")
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how == "raise":
        raise ValueError("as told")
    if how == "exit":
        sys.exit("a last word")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "hook":
        sys.excepthook = lambda kind, error, trace: print(traceback.extract_tb(trace)[0].name)
        raise ValueError("for the hook")
    if how == "thread":
        threading.Timer(0.2, print, ["thread: ran"]).start()
    if how == "kill":
        os.kill(os.getpid(), signal.SIGSEGV)


if __name__ == "__main__":
    main()
