# A child process dies of an exception, and the rank exits with the code of it, without a word.
# kind: exception
# ranks: 0
# type: UnicodeDecodeError
# exit_code: 1
# stopped: 1,2
import multiprocessing
import sys

import meet


def preprocess():
    b"\xff\xfe".decode()  # HERE


if __name__ == "__main__":
    meet.everybody_is_there()
    if meet.RANK == 0:
        child = multiprocessing.get_context("spawn").Process(target=preprocess)
        child.start()
        child.join()
        if child.exitcode != 0:
            sys.exit(child.exitcode)
    meet.sleep_for_ever()
