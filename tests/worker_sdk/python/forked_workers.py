"""Workers that a test forks, as importing torch in each of them takes long."""

import os
import socket
import sys
import time
import traceback
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


def on_workers(count, work):
    """Exit codes of workers that run `work` as under a launcher; forked, as importing torch takes long.

    The store is here, as a launcher has it: one in rank 0 would be gone for the others when that has ended.
    """
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(count),
             "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    children = [fork(work, RANK=str(rank), **place) for rank in range(count)]
    return [exit_code(child) for child in children]
