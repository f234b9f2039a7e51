"""torchrun, forked from a process that has imported torch: the import is nearly all that a row costs.

    python forked.py    (forked.Server starts it, with a listening Unix socket as its standard input)

A client sends one line of JSON, {"words": ..., "environment": ..., "folder": ..., "out": ..., "err": ...},
and gets two: the pid, and how the process has ended. The pid stays taken until the connection is closed.
"""

import ctypes
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PR_SET_PDEATHSIG = 1
QUICK_TORCH = Path(__file__).resolve().parent.parent / "support/quick_torch"


class Server:
    def __init__(self, environment):
        self.environment = environment

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="compat_")
        self.address = self.folder.name + "/torchrun"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen()
            self.process = subprocess.Popen(
                [sys.executable, "-B", __file__], stdin=listener, stdout=subprocess.DEVNULL,
                env=self.environment | {"PYTHONPATH": str(QUICK_TORCH)}, start_new_session=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def start(self, words, **how):
        return Forked(self.address, {"words": words} | how)


class Forked:
    """What the test uses of a subprocess.Popen."""

    def __init__(self, address, request):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(address)
        self.connection.sendall(json.dumps(request).encode() + b"\n")
        self.pid = int(self.line())
        self.returncode = None

    def line(self):
        text = b""
        while not text.endswith(b"\n"):
            more = self.connection.recv(1)
            if not more:
                raise RuntimeError("the process that forks torchrun has ended")
            text += more
        return text

    def wait(self, timeout=None):
        if self.returncode is None:
            self.connection.settimeout(timeout)
            try:
                self.returncode = int(self.line())
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("torchrun", timeout) from None
            self.connection.close()
        return self.returncode

    def poll(self):
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)


def accept(listener):
    """The request of each connection, in a process of its own, and the connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            return json.loads(connection.makefile().readline()), connection
        connection.close()


def watch(pid, connection):
    connection.sendall(b"%d\n" % pid)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    try:
        connection.sendall(b"%d\n" % code)
        connection.recv(1)
    except OSError:
        pass  # the client has gone
    os._exit(0)


def open_as(file, name, flags):
    opened = os.open(name, flags)
    os.dup2(opened, file)
    os.close(opened)


def become_torchrun(request):
    os.setsid()
    os.chdir(request["folder"])
    open_as(1, request["out"], os.O_WRONLY)
    open_as(2, request["err"], os.O_WRONLY)
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # Python looks for it again
    sys.argv = request["words"]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    listener = socket.socket(fileno=os.dup(0))
    open_as(0, os.devnull, os.O_RDONLY)
    import torch.distributed.run  # noqa: F401: that is what it is for
    request, connection = accept(listener)
    pid = os.fork()
    if pid:
        watch(pid, connection)
    connection.close()
    become_torchrun(request)


if __name__ == "__main__":
    main()
