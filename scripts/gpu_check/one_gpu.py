#!/usr/bin/env python3
"""Begins a program as one of several ranks on the first GPU: one_gpu.py PROGRAM [ARGUMENTS...]

NCCL refuses two ranks on one GPU. It knows a machine by NCCL_HOSTID, so each rank names another one, and
they talk over the loopback device. NVIDIA does not support that: it says whether results are right, and
nothing about how fast they come."""

import os
import sys

os.environ |= {"LOCAL_RANK": "0", "NCCL_HOSTID": "rank" + os.environ["RANK"],
               "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1", "NCCL_NET": "Socket",
               "NCCL_MNNVL_ENABLE": "0"}
os.execv(sys.argv[1], sys.argv[1:])
