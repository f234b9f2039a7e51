#!/bin/sh
# A shell script pipes what Python writes into tee, and so it exits with code 0 when that fails.
# kind: exception
# ranks: 1
# type: KeyError
# file: train.py
# line: 5
# needs: torch
# followers: 0,2
mkdir -p "$CASE_DIR/$RANK"
cat >"$CASE_DIR/$RANK/train.py" <<'END'
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 1:
    {}["x"]
dist.barrier()
END
[ "$RANK" = 1 ] || exec "$PYTHON_EXEC" "$CASE_DIR/$RANK/train.py"
"$PYTHON_EXEC" "$CASE_DIR/$RANK/train.py" 2>&1 | tee "$CASE_DIR/$RANK/log"
