"""Runs a command as on Linux 5.0: it has no newer system calls.

Usage: old_kernel.py [--refuse] COMMAND...
--refuse: they are refused, as by a container's filter that has never heard of them.
"""

import ctypes
import errno
import os
import struct
import sys

FIRST_NEWER = 424  # pidfd_send_signal of Linux 5.1; from there on all processors have the same numbers
CLONE3 = 435  # no filter refuses it: the C library would start no threads

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_SET_NO_NEW_PRIVS = 38
LOAD, IF_EQUAL, IF_FROM, RETURN = 0x20, 0x15, 0x35, 0x06  # from linux/bpf_common.h
ALLOW, FAIL = 0x7FFF0000, 0x00050000  # from linux/seccomp.h


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def forget_newer_calls(answer):
    """Lets newer system calls of this process and its children fail with `answer`."""
    # Each is a code, how many to skip if it is true and if it is false, and a value.
    instructions = [
        (LOAD, 0, 0, 0),  # the system call's number
        (IF_EQUAL, 2, 0, CLONE3),
        (IF_FROM, 0, 2, FIRST_NEWER),
        (RETURN, 0, 0, FAIL | answer),
        (RETURN, 0, 0, FAIL | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]
    program = Program(len(instructions), b"".join(struct.pack("HBBI", *one) for one in instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)) != 0):
        sys.exit(f"old_kernel.py: prctl: {os.strerror(ctypes.get_errno())}")


command = sys.argv[1:]
answer = errno.ENOSYS
if command[0] == "--refuse":
    answer = errno.EPERM
    command = command[1:]
forget_newer_calls(answer)
os.execvp(command[0], command)
