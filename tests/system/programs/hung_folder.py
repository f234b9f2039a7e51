"""Runs a command where a folder hangs: hung_folder.py server|disk FOLDER COMMAND...

With `server` a process that touches the folder waits until it is killed, as for a server of files that is gone. With
`disk` not even SIGKILL ends it, as with a disk that is. Others do not see it, and it goes with the command. The exit
code is that of the command; 77 where this machine does not let it be made.
"""

import os
import sys

from fuse_folder import REQUEST_BYTES, run_with_folder


def take_requests(device):
    """Without an answer: who waits for one cannot be killed any more."""
    while True:
        try:
            os.read(device, REQUEST_BYTES)
        except OSError:
            return


if __name__ == "__main__":
    run_with_folder(sys.argv[2], sys.argv[3:], take_requests if sys.argv[1] == "disk" else None)
