"""Workers that a test forks, as importing torch in each of them takes long."""

import os
import signal
import socket
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "worker_sdk" / "python"))

DEADLINE_S = 400


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def fork(work, **variables):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.environ.update(variables)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def exit_code(child):
    """Its exit code; after the deadline it is killed."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def store_port():
    """The port of a store in a process of its own, as a launcher has it: one in rank 0 would be gone for the others
    when that has ended, and one here has a thread, beside which no worker may be forked: it could wait for ever for
    a lock that the thread held.
    """
    port_out, port_in = os.pipe()
    test_is_over, test_runs = os.pipe()

    def serve():
        from torch.distributed import TCPStore

        os.close(test_runs)
        store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        os.write(port_in, str(store.port).encode())
        os.close(port_in)
        os.read(test_is_over, 1)  # ends with the test and its workers, however these end

    server = fork(serve)
    os.close(port_in)
    try:
        with os.fdopen(port_out) as port:
            yield port.read()
    finally:
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        os.close(test_is_over)
        os.close(test_runs)


def on_workers(count, work):
    """Exit codes of workers that run `work` as under a launcher; forked, as importing torch takes long."""
    with store_port() as port:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(count),
                 "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
        children = [fork(work, RANK=str(rank), **place) for rank in range(count)]
        return [exit_code(child) for child in children]
