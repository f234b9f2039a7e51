# An exception is raised while another one is dealt with: the last one ended the program.
# kind: exception
# ranks: 0
# type: RuntimeError
# message: cannot read the shard
import meet


def read():
    raise OSError("bad block")


def load():
    try:
        read()
    except OSError as error:
        raise RuntimeError("cannot read the shard") from error  # HERE


meet.everybody_is_there()
if meet.RANK == 0:
    load()
meet.sleep_for_ever()
