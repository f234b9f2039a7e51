# Several exceptions at once; the place of the first says most.
# kind: exception
# ranks: 1
# type: ExceptionGroup
# python: 3.11
import meet


def read(shard):
    raise OSError(f"shard {shard}")  # HERE


def read_all():
    errors = []
    for shard in range(3):
        try:
            read(shard)
        except OSError as error:
            errors.append(error)
    raise ExceptionGroup("no shard could be read", errors)


meet.everybody_is_there()
if meet.RANK == 1:
    read_all()
meet.sleep_for_ever()
