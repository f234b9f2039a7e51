"""A worker ends, also when the thread of torch's worker server does not serve yet.

    sitecustomize_test.py SITECUSTOMIZE
"""

import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
import importlib.util, socket, sys, threading
import torch.distributed
from torch._C import _distributed_c10d


class Server:
    # As torch's server, whose thread has not been given a processor: it listens, answers nobody, and does not hear
    # that it is to stop.
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        print("listens", flush=True)

    def shutdown(self):
        threading.Event().wait()


spec = importlib.util.spec_from_file_location("hook", sys.argv[1])
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
_distributed_c10d._WorkerServer = Server
hook.open_server(hook.Worker(sys.argv[2]))
sys.exit(7)
"""


def main(hook):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "1.0"
        ended = subprocess.run([sys.executable, "-c", PROGRAM, hook, place], timeout=120, capture_output=True, text=True)
        assert ended.stdout == "listens\n", ended
        assert ended.returncode == 7, ended
        assert not list(pathlib.Path(folder).glob("*.sock")), "somebody could still ask"


main(*sys.argv[1:])
