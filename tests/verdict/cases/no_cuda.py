# The program wants a GPU, and there is none: all ranks fail alike.
# kind: exception
# ranks: 0,1,2
# needs: torch
import os

import torch
import torch.distributed as dist

os.environ["CUDA_VISIBLE_DEVICES"] = ""
dist.init_process_group("gloo")
torch.ones(1).cuda()  # HERE
