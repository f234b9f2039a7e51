# An exception in a data loader's process: the place in the data set is named.
# kind: exception
# ranks: 1
# type: KeyError
# needs: torch
import torch.utils.data

import meet


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return {"x": index}["y"]  # HERE


if __name__ == "__main__":
    meet.everybody_is_there()
    if meet.RANK == 1:
        for _ in torch.utils.data.DataLoader(Data(), num_workers=1):
            pass
    meet.sleep_for_ever()
