"""The store server under test, as a process: `listening on HOST:PORT` is its first line."""

import contextlib
import subprocess


@contextlib.contextmanager
def serving(*command):
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        first = server.stdout.readline()
        assert first.startswith("listening on "), f"unexpected first line {first!r}"
        yield int(first.rsplit(":", 1)[1])
    finally:
        server.terminate()
        server.wait()
