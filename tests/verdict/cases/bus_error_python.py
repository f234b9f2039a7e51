# Shared memory is cut off below Python, as when /dev/shm is full.
# kind: signal
# ranks: 0
# signal: SIGBUS
import faulthandler
import mmap
import tempfile

import meet

faulthandler.enable()
meet.everybody_is_there()
if meet.RANK == 0:
    with tempfile.TemporaryFile() as file:
        file.truncate(1 << 20)
        memory = mmap.mmap(file.fileno(), 1 << 20)
        file.truncate(0)
        memory[4096] = 1  # HERE
meet.sleep_for_ever()
