# A process of an executor's pool ends without a word, and the thread that waits for its result learns it.
# kind: exception
# ranks: 2
# type: concurrent.futures.process.BrokenProcessPool
# stopped: 0,1
import os
from concurrent.futures import ProcessPoolExecutor

import meet


def tokenize(text):
    if text == "c":
        os._exit(3)
    return text.split()


if __name__ == "__main__":
    meet.everybody_is_there()
    if meet.RANK == 2:
        with ProcessPoolExecutor(1) as pool:
            for future in [pool.submit(tokenize, text) for text in "abcd"]:
                future.result()  # HERE
    meet.sleep_for_ever()
