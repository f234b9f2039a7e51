"""Lines on both streams, which filters can tell apart."""

import sys

from dump_env import dump, say

dump()
for fruit in ["apple", "orange", "a pear, green", "größe"]:
    say(f"sells {fruit}")
    say(f"wants {fruit}", sys.stderr)
