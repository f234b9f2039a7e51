"""Runs a command as on Linux 5.0: it has no newer system calls. Or without those that are named.

Usage: old_kernel.py [--refuse] [--without CALL,...] COMMAND...
--refuse: they are refused, as by a container's filter that has never heard of them.
"""

import argparse
import ctypes
import errno
import os
import platform
import struct
import sys

FIRST_NEWER = 424  # pidfd_send_signal of Linux 5.1; from there on all processors have the same numbers

# Older calls have other numbers on each processor: on x86_64, and on aarch64.
OLDER = {
    "accept4": (288, 242), "bpf": (321, 280), "copy_file_range": (326, 285), "epoll_create1": (291, 20),
    "epoll_pwait": (281, 22), "eventfd2": (290, 19), "fallocate": (285, 47), "getcpu": (309, 168),
    "getrandom": (318, 278), "inotify_init1": (294, 26), "ioprio_set": (251, 30), "kcmp": (312, 272),
    "madvise": (28, 233), "mbind": (237, 235), "membarrier": (324, 283), "memfd_create": (319, 279),
    "mount": (165, 40), "perf_event_open": (298, 241), "personality": (135, 92), "pkey_alloc": (330, 289),
    "prctl": (157, 167), "preadv2": (327, 286), "prlimit64": (302, 261), "process_vm_readv": (310, 270),
    "ptrace": (101, 117), "renameat2": (316, 276), "rseq": (334, 293), "sched_getaffinity": (204, 123),
    "sched_setaffinity": (203, 122), "seccomp": (317, 277), "sendmmsg": (307, 269), "set_mempolicy": (238, 237),
    "setpriority": (141, 140), "setrlimit": (160, 164), "setsid": (112, 157), "splice": (275, 76),
    "statx": (332, 291), "timerfd_create": (283, 85), "unshare": (272, 97), "userfaultfd": (323, 282),
    "waitid": (247, 95)}
NEWER = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "pidfd_open": 434, "clone3": 435, "close_range": 436,
    "openat2": 437, "pidfd_getfd": 438, "faccessat2": 439, "process_madvise": 440, "epoll_pwait2": 441,
    "set_mempolicy_home_node": 450}
CLONE3 = NEWER["clone3"]  # no filter refuses it: the C library would start no threads

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
PR_SET_NO_NEW_PRIVS = 38
LOAD, IF_EQUAL, IF_FROM, RETURN = 0x20, 0x15, 0x35, 0x06  # from linux/bpf_common.h
ALLOW, FAIL = 0x7FFF0000, 0x00050000  # from linux/seccomp.h


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def newer_calls(answer):
    """The filter that lets newer calls fail. Each line is a code, how many to skip if true and if false, a value."""
    return [
        (LOAD, 0, 0, 0),  # the system call's number
        (IF_EQUAL, 2, 0, CLONE3),
        (IF_FROM, 0, 2, FIRST_NEWER),
        (RETURN, 0, 0, FAIL | answer),
        (RETURN, 0, 0, FAIL | errno.ENOSYS),
        (RETURN, 0, 0, ALLOW),
    ]


def named_calls(names, answer):
    processor = ("x86_64", "aarch64").index(platform.machine())
    numbers = {name: both[processor] for name, both in OLDER.items()} | NEWER
    filters = [(LOAD, 0, 0, 0)]
    for name in names:
        filters += [(IF_EQUAL, 0, 1, numbers[name]), (RETURN, 0, 0, FAIL | answer)]
    return [*filters, (RETURN, 0, 0, ALLOW)]


def filter_calls(instructions):
    """For this process and its children."""
    program = Program(len(instructions), b"".join(struct.pack("HBBI", *one) for one in instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program)) != 0):
        sys.exit(f"old_kernel.py: prctl: {os.strerror(ctypes.get_errno())}")


parser = argparse.ArgumentParser()
parser.add_argument("--refuse", action="store_const", const=errno.EPERM, default=errno.ENOSYS, dest="answer")
parser.add_argument("--without", type=lambda text: text.split(","))
parser.add_argument("command", nargs=argparse.REMAINDER)
options = parser.parse_args()
filter_calls(named_calls(options.without, options.answer) if options.without else newer_calls(options.answer))
os.execvp(options.command[0], options.command)
