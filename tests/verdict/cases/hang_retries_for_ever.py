# A rank tries to reach a server for ever, and logs a traceback each time.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import logging
import socket
import time

import torch
import torch.distributed as dist

import meet


def connect(address):
    while True:
        try:
            return socket.create_connection(address, 5)
        except OSError:
            logging.exception("the feature store does not answer, trying again")
        time.sleep(1)  # HERE


meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        connect(nobody_listens.getsockname())
dist.all_reduce(torch.ones(3))
