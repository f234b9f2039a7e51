# A rank uses a group that it does not belong to.
# kind: exception
# ranks: 2
# type: RuntimeError
# message: expects a non-empty TensorList
# needs: torch
# followers: 0,1
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
pair = dist.new_group([0, 1])
parts = [torch.zeros(3) for _ in range(dist.get_world_size(pair))]
dist.all_gather(parts, torch.ones(3), group=pair)
whole = torch.stack(parts)  # HERE
dist.all_reduce(whole)
