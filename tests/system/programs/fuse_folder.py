"""Runs a command with a folder of FUSE, of which a program here is the server; others do not see the folder.

The exit code is that of the command; 77 where this machine does not let the folder be made.
"""

import ctypes
import os
import struct
import subprocess
import sys
import threading

NEW_MOUNTS = 0x00020000
PRIVATE, RECURSIVE = 1 << 18, 1 << 14
REQUEST_BYTES = 1 << 20
INIT = 26  # the first request of all: until it is answered, the kernel sends no other one

libc = ctypes.CDLL(None, use_errno=True)


def init_answer():
    """What INIT is answered with."""
    return struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 8, 8, 128 * 1024, 1, 0, 0, 0, *[0] * 7)


def answer(device, unique, body=b"", code=0):
    os.write(device, struct.pack("<IiQ", 16 + len(body), code, unique) + body)


def done(result):
    if result != 0:
        print(f"no folder of FUSE: {os.strerror(ctypes.get_errno())}")
        sys.exit(77)


def run_with_folder(folder, command, serve=None):
    """Calls serve(device) in a thread of its own; without it, nobody takes a request."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("no folder of FUSE: only root can make one, by /dev/fuse")
        sys.exit(77)
    done(libc.unshare(NEW_MOUNTS))
    done(libc.mount(None, b"/", None, PRIVATE | RECURSIVE, None))
    device = os.open("/dev/fuse", os.O_RDWR)
    done(libc.mount(b"test", os.fsencode(folder), b"fuse", 0,
                    f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()))
    if serve is not None:
        threading.Thread(target=serve, args=(device,), daemon=True).start()
    code = subprocess.run(command).returncode
    os._exit(code if code >= 0 else 128 - code)  # with it the device, and all that waits for it
