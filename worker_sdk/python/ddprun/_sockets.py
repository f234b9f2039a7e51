"""The connections of a world: a worker that waits in a collective is freed when they are shut down.

torch has no abort for Gloo. What it waits for comes over TCP, so the sockets that appear while the group is made
are noted, and shut down when the world has to be left: each call of the group then fails at once, here and at its
other end. Noted is a duplicate, whose number nobody else can have been given in between.

A member that is lost after it has told its address, and before it has connected, leaves nothing to shut down: Gloo
waits for it at a socket that listens. So this process connects there in its place, and hangs up.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import struct
import threading
from typing import Dict, Set

FOLDER = "/proc/self/fd"
KNOCK_S = 0.1  # to connect to this process itself
PAIR_NUMBER = "<q"  # it is the first thing that a member says; Gloo counts a process's pairs from 0


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
        self._listening: Dict[int, socket.socket] = {}
        self._poll = select.poll()

    def note(self) -> None:
        """Notes those that have appeared since the last time."""
        with self._lock:
            for inode, number in _connections().items():
                if inode in self._before or inode in self._noted or inode in self._listening:
                    continue
                try:
                    copy = socket.socket(fileno=os.dup(number))
                except OSError:
                    continue  # it was closed meanwhile
                if os.fstat(copy.fileno()).st_ino != inode or not self._is_tcp(copy):
                    copy.close()
                elif copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    self._listening[inode] = copy
                else:
                    self._noted[inode] = copy
                    self._poll.register(copy, select.POLLRDHUP)

    @staticmethod
    def _is_tcp(copy: socket.socket) -> bool:
        return copy.family in (socket.AF_INET, socket.AF_INET6) and copy.type == socket.SOCK_STREAM

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

    def hang_up_for(self, members: int) -> None:
        """Connects in place of that many members, wherever this process waits for them, and hangs up."""
        with self._lock:
            for listening in self._listening.values():
                for number in range(members):
                    try:
                        with socket.create_connection(listening.getsockname()[:2], KNOCK_S) as member:
                            member.send(struct.pack(PAIR_NUMBER, number))
                    except OSError:
                        pass  # it listens no more, or cannot be reached

    def close(self) -> None:
        with self._lock:
            for copy in self._noted.values():
                self._poll.unregister(copy)
                copy.close()
            for copy in self._listening.values():
                copy.close()
            self._noted.clear()
            self._listening.clear()
