#!/bin/sh
# Begins a program as one of several ranks on the first GPU: one_gpu.sh PROGRAM [ARGUMENTS...]
#
# NCCL refuses two ranks on one GPU. It knows a machine by NCCL_HOSTID, so each rank names another one, and
# they talk over the loopback device. NVIDIA does not support that: it says whether results are right, and
# nothing about how fast they come. A wrapper in Python would take the variables away by which ddprun asks
# its workers what they do.
export LOCAL_RANK=0 NCCL_HOSTID="rank$RANK" NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 NCCL_NET=Socket \
  NCCL_MNNVL_ENABLE=0
exec "$@"
