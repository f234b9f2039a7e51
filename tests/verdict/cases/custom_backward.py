# An exception in the backward of an own function, which autograd calls.
# kind: exception
# ranks: 1
# type: FloatingPointError
# needs: torch
# followers: 0,2
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, grad):
        if dist.get_rank() == 1:
            raise FloatingPointError("gradient is not finite")  # HERE
        return grad / 2


dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(2, 2))
Half.apply(model(torch.ones(1, 2))).sum().backward()
