"""A worker that enters a world with a member that is gone is freed from waiting for it."""

import multiprocessing
import sys
import threading
import unittest
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "worker_sdk" / "python"))

from ddprun._sockets import WorldSockets  # noqa: E402
from elastic_changes import until  # noqa: E402
from forked_workers import DEADLINE_S  # noqa: E402

PATIENCE = timedelta(hours=1)  # the group's own would end the wait, too
TRIES = 3
KEYS = 2  # one is the store's own, one the address


def enter(port, rank):
    store = dist.TCPStore("127.0.0.1", port, 2, is_master=False, timeout=PATIENCE)
    dist.init_process_group("gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=2, timeout=PATIENCE)


def enter_and_be_freed(port, ends):
    """Enters as rank 0, while another thread frees this one. It may see only later that the other end is gone."""
    sockets = WorldSockets()
    is_left = threading.Event()

    def free():
        while not is_left.wait(0.05):
            sockets.note()
            sockets.hang_up_for(2)

    threading.Thread(target=free).start()
    try:
        enter(port, 0)
    except RuntimeError:
        pass  # as it should
    finally:
        ends.send("free")
        is_left.set()


class SocketsTest(unittest.TestCase):
    def test_a_member_that_dies_before_it_connects_keeps_nobody(self):
        """Their ports decide which of two members connects, and which one waits: so there are several tries."""
        for attempt in range(TRIES):
            with self.subTest(attempt=attempt):
                self.lose_a_member()

    def lose_a_member(self):
        started = multiprocessing.get_context("spawn")
        store = dist.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
        lost = started.Process(target=enter, args=(store.port, 1))
        lost.start()
        until(lambda: store.num_keys() >= KEYS, "rank 1 to tell its address, and to wait for the one of rank 0")
        lost.kill()
        lost.join()
        heard, ends = started.Pipe(duplex=False)
        stays = started.Process(target=enter_and_be_freed, args=(store.port, ends))
        stays.start()
        try:
            self.assertTrue(heard.poll(DEADLINE_S), "it waits for a member that is gone")
        finally:
            stays.kill()
            stays.join()


if __name__ == "__main__":
    unittest.main()
