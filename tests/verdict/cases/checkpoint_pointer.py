# Git has left the pointer to a checkpoint in the place of the checkpoint, a text of three lines.
# kind: exception
# ranks: 0
# type: _pickle.UnpicklingError
# needs: torch
# hint: damaged
import os

import torch

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    path = os.environ["CASE_DIR"] + "/model.pt"
    with open(path, "w") as file:
        file.write("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 123456\n")
    torch.load(path)  # HERE
meet.sleep_for_ever()
