"""Runs a command where a folder hangs: hung_folder.py server|disk FOLDER COMMAND...

With `server` a process that touches the folder waits until it is killed, as for a server of files that is gone. With
`disk` not even SIGKILL ends it, as with a disk that is. Others do not see it, and it goes with the command. The exit
code is that of the command; 77 where this machine does not let it be made.
"""

import os
import struct
import sys

from fuse_folder import INIT, REQUEST_BYTES, answer, init_answer, run_with_folder


def take_requests(device):
    """Without an answer, but for the first: who waits for one cannot be killed any more."""
    while True:
        try:
            request = os.read(device, REQUEST_BYTES)
        except OSError:
            return
        _, kind, unique = struct.unpack_from("<IIQ", request)
        if kind == INIT:
            answer(device, unique, init_answer())


if __name__ == "__main__":
    run_with_folder(sys.argv[2], sys.argv[3:], take_requests if sys.argv[1] == "disk" else None)
