# The exception has no text: making it raises another one, which Python passes over.
# kind: exception
# ranks: 2
# type: ShardError
# exit_code: 1
import meet


class ShardError(Exception):
    def __str__(self):
        return "cannot read " + self.args[0].path


meet.everybody_is_there()
if meet.RANK == 2:
    raise ShardError("shard_3")  # HERE
meet.sleep_for_ever()
