# Matrices do not fit in a layer of torch: the line of the program is named, and not torch's.
# kind: exception
# ranks: 1
# type: RuntimeError
# message: cannot be multiplied
# needs: torch
import torch
import torch.distributed as dist

dist.init_process_group("gloo")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x)  # HERE


net = torch.nn.parallel.DistributedDataParallel(Net())
net(torch.ones(3, 5 if dist.get_rank() == 1 else 4)).sum().backward()
