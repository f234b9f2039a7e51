# In a grid of two by two, one rank waits for a server, and the others for it, in rows and columns.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 3
# workers: 4
# operation: gloo:all_reduce
import socket
import urllib.request

import torch
import torch.distributed as dist

import meet


def download():
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        urllib.request.urlopen(f"http://{host}:{port}/shard").read()  # HERE


meet.everybody_is_there()
dist.init_process_group("gloo")
rank = dist.get_rank()
rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
for step in range(5):
    if step == 3 and rank == 3:
        download()
    dist.all_reduce(torch.ones(3), group=rows[rank // 2])
    dist.all_reduce(torch.ones(3), group=columns[rank % 2])
