#!/usr/bin/env bash
# Unmodified PyTorch programs meet in ddprun's store, in one round after the other.
. "$(dirname "$0")/lib.sh"

need_torch
programs=$(cd "$(dirname "$0")/programs" && pwd)

run 0 --standalone --nproc-per-node 3 "$programs/ddp.py" 0
for rank in 0 1 2; do says out "rank $rank of 3 done in attempt 0"; done

# The variable chooses another of torch's stores where rank 0 opens one. Here no rank does.
USE_LIBUV=0 run 0 --standalone --nproc-per-node 2 "$programs/ddp.py" 0
for rank in 0 1; do says out "rank $rank of 2 done in attempt 0"; done

# A restart must not see keys of the attempt before, which each of these programs would find.
run 0 --standalone --nproc-per-node 2 --max-restarts 3 "$programs/ddp.py" 3
for rank in 0 1; do says out "rank $rank of 2 done in attempt 3"; done

# The traceback of a Python worker is in the report, and what @record wrote is found.
cat >"$scratch/recorded.py" <<'PY'
import os
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    if os.environ["RANK"] == "1":
        raise ValueError("no such batch")
    import time
    time.sleep(1000)

main()
PY
run 1 --standalone --nproc-per-node 2 "$scratch/recorded.py"
says err "rank 1 on $(uname -n) raised ValueError at recorded.py:7 in main: no such batch"
error_file=$(sed -n 's/^  error_file: //p' "$scratch/err")
grep -q "no such batch" "$error_file" || fail "the error file '$error_file' is not there any more"
