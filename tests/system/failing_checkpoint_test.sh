#!/usr/bin/env bash
# A checkpoint that fails alike each time that it is loaded gives way to the one before it.
. "$(dirname "$0")/lib.sh"

program=$(dirname "$(realpath "$0")")/programs/nan.py
PYTHONPATH=$(dirname "$(realpath "$0")")/../../worker_sdk/python
export PYTHONPATH OUT=out STEPS=20 LOGLEVEL=INFO next=$scratch/next PYTHON_EXEC=python3
mkfifo "$next"
mkdir "$scratch/work"
cd "$scratch/work" || exit

# saved N: the save of step N is in memory, and the program may go on.
saved() {
  wait_for_message "checkpoint-$1 \(.*\) is in memory"
  echo >"$next"
}
# trains NAME: until the bad checkpoint, then from there on two times, and then from the one before it.
trains() {
  start --nproc-per-node 1 --checkpoints "out=$scratch/disk-$1" --max-restarts 9 --report-file "$scratch/report.json" \
    "$program"
  saved 5
  saved 10
  wait_for_message "workers continue from checkpoint-5, from memory \(checkpoint-10 failed alike each time"
  [ "$(grep -c "continue from checkpoint-10, from memory" "$scratch/err")" = 2 ] ||
    fail "it was not loaded twice: $(grep continue "$scratch/err")"
  : >"$scratch/err"
  saved 10
  saved 15
  saved 20
  ends 0
  grep -q "^\[0.*, 0.1\]$" "$scratch/disk-$1/checkpoint-10/state.json" || fail "the bad checkpoint is on disk"
  "$DDPRUN" explain "$scratch/report.json" >"$scratch/explained" || fail "no report can be explained"
  grep -q "^round 4 continued from checkpoint-5, from memory (checkpoint-10 failed alike" "$scratch/explained" ||
    fail "the report does not say why it was an older one: $(cat "$scratch/explained")"
  rm out
  nothing_left
}

HEARTBEAT=1 trains told
trains untold
