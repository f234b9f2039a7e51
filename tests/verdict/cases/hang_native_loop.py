# One call of a native library, which leaves the interpreter's lock to others, takes for ever.
# kind: hang
# outcome: hung
# ddprun_exit: 86
# needs: torch
# arguments: --hang-timeout 4 --on-hang stop --shutdown-timeout 2
# ranks: 1
# waiting: 0,2
# operation: gloo:all_reduce
import hashlib

import torch
import torch.distributed as dist

import meet

meet.everybody_is_there()
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(3))
if dist.get_rank() == 1:
    hashlib.pbkdf2_hmac("sha256", b"key", b"salt", 2_000_000_000)  # HERE
dist.all_reduce(torch.ones(3))
