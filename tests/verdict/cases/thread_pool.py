# A thread of a pool raises an exception, and the thread that asks for its result gets it.
# kind: exception
# ranks: 2
# type: FileNotFoundError
from concurrent.futures import ThreadPoolExecutor

import meet


def load(path):
    return open(path).read()  # HERE


meet.everybody_is_there()
if meet.RANK == 2:
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(load, ["/nowhere/1", "/nowhere/2"]))
meet.sleep_for_ever()
