# An error in a `finally` covers the first one.
# kind: exception
# ranks: 1
# type: AttributeError
import meet


def train():
    logger = None
    try:
        raise ValueError("bad batch")
    finally:
        logger.close()  # HERE


meet.everybody_is_there()
if meet.RANK == 1:
    train()
meet.sleep_for_ever()
