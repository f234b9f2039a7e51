# One rank waits for a server that does not answer.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 0
# waiting: 1,2
# operation: gloo:all_reduce
import socket

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))


def download():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            return client.recv(1)  # HERE


if dist.get_rank() == 0:
    download()
dist.all_reduce(torch.ones(3))
