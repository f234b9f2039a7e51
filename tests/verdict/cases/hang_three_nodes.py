# On the third node a child process dies, and its rank waits for what that was to put in a queue.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# nodes: 3
# workers: 1
# ranks: 2
# waiting: 0,1
# operation: gloo:all_reduce
import multiprocessing

import torch
import torch.distributed as dist

import meet


def read_shards(batches):
    raise OSError(5, "Input/output error", "/data/shard_7")


if __name__ == "__main__":
    meet.everybody_is_there()
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(3))
    if dist.get_rank() == 2:
        batches = multiprocessing.Queue()
        multiprocessing.Process(target=read_shards, args=(batches,), daemon=True).start()
        batches.get()  # HERE
    dist.all_reduce(torch.ones(3))
