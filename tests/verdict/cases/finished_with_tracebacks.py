# All is well in the end: what was raised was dealt with, or came at the exit and is ignored.
# outcome: finished
# ddprun_exit: 0
import atexit
import logging
import threading

import meet


def flush():
    raise OSError(28, "No space left on device")


def report():
    {}["loss"]


meet.everybody_is_there()
if meet.RANK == 1:
    atexit.register(flush)
    try:
        flush()
    except OSError:
        logging.exception("not flushed")
    thread = threading.Thread(target=report)
    thread.start()
    thread.join()
