"""The connections of a world: a worker that waits in a collective is freed when they are shut down.

torch has no abort for Gloo. What it waits for comes over TCP, so the sockets that appear while the group is made
are noted, and shut down when the world has to be left: each call of the group then fails at once, here and at its
other end. Noted is a duplicate, whose number nobody else can have been given in between.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import threading
from typing import Dict, Set

FOLDER = "/proc/self/fd"


def _connections() -> Dict[int, int]:
    """The descriptors of this process that are sockets: by their inodes."""
    found = {}
    for name in os.listdir(FOLDER):
        try:
            status = os.fstat(int(name))
        except OSError:
            continue  # the listing itself had it, or another thread has closed it
        if stat.S_ISSOCK(status.st_mode):
            found[status.st_ino] = int(name)
    return found


class WorldSockets:
    """Those TCP connections of this process that have appeared since it was made. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: Set[int] = set(_connections())
        self._noted: Dict[int, socket.socket] = {}
        self._poll = select.poll()

    def note(self) -> None:
        """Notes those that have appeared since the last time."""
        with self._lock:
            for inode, number in _connections().items():
                if inode in self._before or inode in self._noted:
                    continue
                try:
                    copy = socket.socket(fileno=os.dup(number))
                except OSError:
                    continue  # it was closed meanwhile
                if os.fstat(copy.fileno()).st_ino == inode and self._is_connection(copy):
                    self._noted[inode] = copy
                    self._poll.register(copy, select.POLLRDHUP)
                else:
                    copy.close()

    @staticmethod
    def _is_connection(copy: socket.socket) -> bool:
        if copy.family not in (socket.AF_INET, socket.AF_INET6) or copy.type != socket.SOCK_STREAM:
            return False
        return not copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)

    def hung_up(self) -> bool:
        """Whether the other end of one of them has closed it."""
        with self._lock:
            return bool(self._poll.poll(0))

    def shut_down(self) -> None:
        with self._lock:
            for copy in self._noted.values():
                try:
                    copy.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it is shut down, or was never connected

    def close(self) -> None:
        with self._lock:
            for copy in self._noted.values():
                self._poll.unregister(copy)
                copy.close()
            self._noted.clear()
