# A checkpoint of another model: all ranks fail alike.
# kind: exception
# some_of: 0,1
# type: RuntimeError
# message: Error(s) in loading state_dict
# needs: torch
# workers: 2
# hint: checkpoint is of another model
import torch

model = torch.nn.Linear(3, 2)
model.load_state_dict({"weight": torch.zeros(5, 5)})  # HERE
