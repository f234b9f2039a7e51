"""Runs a command with a folder that hangs on request: hanging_files.py FOLDER SWITCH COMMAND...

The folder keeps its files in memory, and others do not see it. While the file SWITCH exists, nobody gets an answer
from the folder, as from a server of files that is gone; when it is removed, all get theirs. The exit code is that of
the command; 77 where this machine does not let the folder be made. With FLUSH=1 in the environment, the folder is also
asked when a file is closed, as some servers are; with HANG_AT_OPEN=N, SWITCH is made when a file is opened for the N-th
time, and what was read before is not read again.

This is a server of FUSE, in the words of the kernel's linux/fuse.h, as far as logs need it.
"""

import errno
import os
import pathlib
import select
import stat
import struct
import sys
import time

from fuse_folder import INIT, REQUEST_BYTES, answer, init_answer, run_with_folder

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME = 1, 2, 3, 4, 9, 10, 11, 12
OPEN, READ, WRITE, RELEASE, FLUSH, OPENDIR, READDIR, RELEASEDIR = 14, 15, 16, 18, 25, 27, 28, 29
CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 35, 36, 42, 45
MODE_IS_SET, SIZE_IS_SET = 1 << 0, 1 << 3
KEEP_CACHE = 1 << 1


class Node:
    def __init__(self, mode):
        self.mode = mode
        self.data = bytearray()
        self.children = {}


class Files:
    """Answers requests; a node's number is its place in the list."""

    def __init__(self):
        self.nodes = [None, Node(stat.S_IFDIR | 0o755)]
        self.hang_at_open = int(os.environ.get("HANG_AT_OPEN", "0"))
        self.opened = 0

    def attributes(self, number):
        node = self.nodes[number]
        return struct.pack("<QQQQQQIIIIIIIIII", number, len(node.data), 0, 0, 0, 0, 0, 0, 0, node.mode, 1, 0, 0, 0,
                           4096, 0)

    def entry(self, number):
        return struct.pack("<QQQQII", number, 0, 0, 0, 0, 0) + self.attributes(number)

    def find(self, parent, name):
        if name not in self.nodes[parent].children:
            raise OSError(errno.ENOENT, "")
        return self.nodes[parent].children[name]

    def make(self, parent, name, mode):
        self.nodes.append(Node(mode))
        self.nodes[parent].children[name] = len(self.nodes) - 1
        return len(self.nodes) - 1

    def listing(self, number, offset):
        text = b""
        for place, (name, child) in enumerate(list(self.nodes[number].children.items())[offset:], offset + 1):
            text += struct.pack("<QQII", child, place, len(name), self.nodes[child].mode >> 12) + name
            text += b"\0" * (-len(text) % 8)
        return text

    def reply(self, kind, number, body):
        node = self.nodes[number] if 0 < number < len(self.nodes) else None
        name = body.split(b"\0")[0]
        if kind == INIT:
            return init_answer()
        if kind == LOOKUP:
            return self.entry(self.find(number, name))
        if kind == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(number)
        if kind == SETATTR:
            valid, _, _, size = struct.unpack_from("<IIQQ", body)
            if valid & SIZE_IS_SET:
                node.data = node.data[:size].ljust(size, b"\0")
            if valid & MODE_IS_SET:
                (mode,) = struct.unpack_from("<I", body, 68)
                node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
            return struct.pack("<QII", 0, 0, 0) + self.attributes(number)
        if kind == MKDIR:
            return self.entry(self.make(number, body[8:].split(b"\0")[0], stat.S_IFDIR | 0o700))
        if kind in (UNLINK, RMDIR):
            self.find(number, name)
            del node.children[name]
            return b""
        if kind in (RENAME, RENAME2):
            (target,) = struct.unpack_from("<Q", body)
            before, after = body[16 if kind == RENAME2 else 8:].split(b"\0")[:2]
            self.nodes[target].children[after] = self.find(number, before)
            del node.children[before]
            return b""
        if kind in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, KEEP_CACHE if self.hang_at_open else 0, 0)
        if kind == CREATE:
            return self.entry(self.make(number, body[16:].split(b"\0")[0], stat.S_IFREG | 0o644)) + struct.pack(
                "<QII", 0, 0, 0)
        if kind == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return bytes(node.data[offset:offset + size])
        if kind == WRITE:
            _, offset, size = struct.unpack_from("<QQI", body)
            node.data[offset:offset + size] = body[40:40 + size]
            return struct.pack("<II", size, 0)
        if kind == READDIR:
            _, offset, _ = struct.unpack_from("<QQI", body)
            return self.listing(number, offset)
        if kind in (RELEASE, RELEASEDIR):
            return b""
        if kind == FLUSH and os.environ.get("FLUSH"):
            return b""
        # Without FLUSH nobody waits for an answer when a file is closed, as by the end of a process. The kernel asks
        # once.
        raise OSError(errno.ENOSYS, "")


def wait_while(switch):
    while os.path.exists(switch):
        time.sleep(0.01)


def serve(device, switch):
    files = Files()
    while True:
        select.select([device], [], [])
        wait_while(switch)  # a request that has been taken would not let SIGKILL end who waits for it
        try:
            request = os.read(device, REQUEST_BYTES)
        except OSError:
            return
        _, kind, unique, number = struct.unpack_from("<IIQQ", request)
        files.opened += kind == OPEN
        if kind == OPEN and files.opened == files.hang_at_open:
            pathlib.Path(switch).touch()
            wait_while(switch)
        if kind in (FORGET, INTERRUPT, BATCH_FORGET):
            continue
        try:
            code, body = 0, files.reply(kind, number, request[40:])
        except OSError as refused:
            code, body = -refused.errno, b""
        try:
            answer(device, unique, body, code)
        except OSError:  # the client has been killed
            pass


if __name__ == "__main__":
    folder, switch, *command = sys.argv[1:]
    closes_one = ["sh", "-c", ': >"$0/closed" && rm "$0/closed" && exec "$@"', folder]
    run_with_folder(folder, closes_one + command, lambda device: serve(device, switch))
