"""Runs a command where a folder hangs: hung_folder.py server|disk FOLDER COMMAND...

With `server` a process that touches the folder waits until it is killed, as for a server of files that is gone. With
`disk` not even SIGKILL ends it, as with a disk that is. Others do not see it, and it goes with the command. The exit
code is that of the command; 77 where this machine does not let it be made.
"""

import ctypes
import os
import subprocess
import sys
import threading

NEW_MOUNTS = 0x00020000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14
REQUEST_BYTES = 1 << 20

libc = ctypes.CDLL(None, use_errno=True)


def done(result):
    if result != 0:
        print(f"hung_folder: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)


def take_requests(device):
    """Without an answer: who waits for one cannot be killed any more."""
    while True:
        try:
            os.read(device, REQUEST_BYTES)
        except OSError:
            return


def main():
    kind, folder, *command = sys.argv[1:]
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("hung_folder: only root can make one, by /dev/fuse")
        sys.exit(77)
    done(libc.unshare(NEW_MOUNTS))
    done(libc.mount(None, b"/", None, PRIVATE | RECURSIVE, None))
    device = os.open("/dev/fuse", os.O_RDWR)
    done(libc.mount(b"hung", os.fsencode(folder), b"fuse", 0,
                    f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()))
    if kind == "disk":
        threading.Thread(target=take_requests, args=(device,), daemon=True).start()
    code = subprocess.run(command).returncode
    os._exit(code if code >= 0 else 128 - code)  # with it the device, and all that waits for it


if __name__ == "__main__":
    main()
