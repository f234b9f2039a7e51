# DistributedDataParallel finds a parameter that took no part.
# kind: exception
# some_of: 0,1
# type: RuntimeError
# message: Expected to have finished reduction
# needs: torch
# workers: 2
# hint: find_unused_parameters
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.nn.Linear(2, 2)
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.used(x)


model = DistributedDataParallel(Model())
for _ in range(3):
    model(torch.ones(1, 2)).sum().backward()  # HERE
