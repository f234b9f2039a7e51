# A program that the rank has started dies of an exception, and the rank because of that.
# kind: exception
# ranks: 0
# type: subprocess.CalledProcessError
import subprocess
import sys

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    subprocess.run([sys.executable, "-c", "{}['tokenizer']"], check=True)  # HERE
meet.sleep_for_ever()
