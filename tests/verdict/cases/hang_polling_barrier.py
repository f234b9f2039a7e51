# Two ranks count in the store, again and again, which ranks have reached their own barrier; one sleeps.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# known_wrong: a loop that polls is no wait
import time

import torch
import torch.distributed as dist

import meet


def own_barrier(store):
    store.add("arrived", 1)
    while store.add("arrived", 0) < dist.get_world_size():
        time.sleep(0.5)


meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    time.sleep(600)  # HERE
own_barrier(dist.distributed_c10d._get_default_store())
