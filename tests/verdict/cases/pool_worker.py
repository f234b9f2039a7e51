# A process of a multiprocessing pool raises an exception: the place in its function is named.
# kind: exception
# ranks: 1
# type: ValueError
# message: sample 3
import multiprocessing

import meet


def decode(sample):
    if sample == 3:
        raise ValueError(f"sample {sample} cannot be decoded")  # HERE
    return sample


if __name__ == "__main__":
    meet.everybody_is_there()
    if meet.RANK == 1:
        with multiprocessing.Pool(2) as pool:
            pool.map(decode, range(8))
    meet.sleep_for_ever()
