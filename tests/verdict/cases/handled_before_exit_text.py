# A rank prints a traceback that it has dealt with, goes on, and soon exits with a text of its own.
# kind: exit_code
# ranks: 0
# exit_code: 1
# sentence: the batch size must divide the data
import sys
import traceback

import meet


def load_cache():
    try:
        return open("/nowhere/cache.bin", "rb").read()
    except OSError:
        traceback.print_exc()
        return None


meet.everybody_is_there()
if meet.RANK == 0:
    load_cache()
    for shard in range(30):
        print(f"reading shard {shard} without the cache", file=sys.stderr)
    sys.exit("the batch size must divide the data")
meet.sleep_for_ever()
