#!/usr/bin/env bash
# A job that hangs says so to a browser and in a terminal: who is missing, who waits, and at which line.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$(realpath "$0")")
need_torch
export OMP_NUM_THREADS=1
start --nproc-per-node 3 --rdzv-id hangs --hang-timeout 3 --status-addr 0 "$here/programs/hang.py"
# Ranks that import torch much sooner than another one may seem to hang, too, until that one comes.
hangs() {
  "$DDPRUN" status hangs >"$scratch/answer" 2>&1 && grep -q 'it hangs' "$scratch/answer" &&
    grep -qE '^ +1 .* missing' "$scratch/answer" && grep -qE '^ +0 .* waiting' "$scratch/answer"
}
until_true 300 "rank 1 to be shown as missing, and rank 0 as waiting" hangs
is_listed() { grep -q ' hangs ' < <("$DDPRUN" ls); }
until_true 60 "the list to say that it hangs" is_listed

code=0
python3 "$here/status_hang.py" "$(sed -n 's/.*the status page is at //p' "$scratch/err")" || code=$?
[ "$code" = 0 ] || [ "$code" = 77 ] || fail "the page does not show the hang"
"$DDPRUN" stop hangs >/dev/null
ends 130
[ "$code" = 0 ] || skip "there is no chromium; the commands have shown the hang"
