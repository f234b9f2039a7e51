# The kernel kills a rank because the cgroup of the job is full.
# kind: out_of_memory
# ranks: 1
# signal: SIGKILL
# memory: 200M
import meet

meet.everybody_is_there()
if meet.RANK == 1:
    blocks = []
    while True:
        blocks.append(bytearray(b"x" * (8 << 20)))
meet.sleep_for_ever()
