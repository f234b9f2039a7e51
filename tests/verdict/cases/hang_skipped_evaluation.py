# One rank is done with its evaluation early, skips its all_gather, and goes on to the next step.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_gather
# sentence: rank 1 called gloo:all_reduce
import torch
import torch.distributed as dist

import meet


def evaluate(patience):
    if patience == 0:
        return
    scores = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(scores, torch.ones(1))


meet.everybody_is_there()
dist.init_process_group("gloo")
for step in range(8):
    dist.all_reduce(torch.ones(3))  # HERE
    if step % 3 == 2:
        evaluate(patience=0 if dist.get_rank() == 1 else 2)
