# A server of data is not there for a rank: that is its own fault, although others lose it then.
# kind: exception
# ranks: 2
# type: urllib.error.URLError
# message: Connection refused
# needs: torch
# followers: 0,1
import socket
import urllib.request

import torch
import torch.distributed as dist


def download():
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        host, port = nobody_listens.getsockname()
        return urllib.request.urlopen(f"http://{host}:{port}/shard")  # HERE


dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 2:
    download()
dist.all_reduce(torch.ones(3))
