#!/usr/bin/env bash
# The report of a failure begins with the exception, says each thing once, and names the log file. `ddprun explain`
# prints it again from the file of --report-file. On a terminal torchrun's block is left out.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/train.py" <<'PY'
import os, signal, sys, time

def load(shard):
    raise ValueError(f"bad shard {shard}")

if os.environ["RANK"] == "1":
    load(17)
signal.pause()
PY
report=$scratch/report.json
python=$(command -v python3)
job=(--nproc-per-node 2 --report-file "$report" --no-python "$python" "$scratch/train.py")
headline="the job failed: rank 1 on $(uname -n) raised ValueError at train.py:4 in load: bad shard 17"

# --- The output is on the terminal, so the traceback is not repeated ---
run 1 "${job[@]}"
says err "ddprun: rank 1 exited with code 1: ValueError at train.py:4 in load: bad shard 17: stopping all workers"
says err "ddprun: $headline"
says err "  then: rank 0: stopped by ddprun"
says err "  traceback : ValueError at train.py:4 in load: bad shard 17" # torchrun's line
[ "$(grep -c Traceback "$scratch/err")" = 1 ] || fail "the traceback stands there twice"
[ "$(grep -n "^=" "$scratch/err" | tail -1 | cut -d: -f1)" -lt "$(grep -n "$headline" "$scratch/err" | cut -d: -f1)" ] ||
  fail "the report is not the last"

# --- Somebody who comes later sees the same, and the worker's last lines ---
run 0 explain "$report"
says out "$headline"
says out "    | ValueError: bad shard 17"

# --- In files: the report says which ---
run 1 --log-dir "$scratch/logs" --redirects 3 "${job[@]}"
log=$(find "$scratch/logs" -path '*/attempt_0/1/stderr.log')
says err "  log: $log"
says err "    | ValueError: bad shard 17"

# --- A terminal needs no block for programs ---
script -qec "'$DDPRUN' --nproc-per-node 2 --no-python '$python' '$scratch/train.py'" /dev/null >"$scratch/out" || :
says out "ddprun: $headline"
! grep -q "Root Cause" "$scratch/out" || fail "torchrun's block is on a terminal"

# --- However long the message is, the exception is known ---
for characters in '"x" * 200_000' '"line\\n" * 20_000'; do
  sed -i "s/raise ValueError(.*/raise ValueError($characters)/" "$scratch/train.py"
  run 1 "${job[@]}"
  says err "raised ValueError at train.py:4 in load: "
done

# --- What cannot be explained ---
run 1 explain "$scratch/absent"
says err "cannot read '$scratch/absent'"
run 1 explain "$scratch/train.py"
says err "is no report of a job (it is no JSON): is it a file of --report-file?"
run 2 explain
run 0 explain --help
says out "ddprun explain report.json"
nothing_left
