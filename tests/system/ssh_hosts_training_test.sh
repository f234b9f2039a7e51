#!/usr/bin/env bash
# The digits training in Python on three hosts over ssh, of which one is lost: the others go on from the
# checkpoint.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_torch # PYTHON_EXEC goes to the hosts by itself
data=$(find "$DDPRUN_TORCH_ENV" -path '*/sklearn/datasets/data/digits.csv.gz' -print -quit)
training=$(realpath "$(dirname "$0")/../../worker_sdk/examples/train_digits.py")

need_ssh_hosts 3
start_hosts training --hosts h1,h2,h3 --nnodes 2:3 "$training" --data "$data" --epochs 12 \
  --checkpoint-dir "$scratch/checkpoints"
node training wait_for_line '^\[h1\] epoch 1/12 '
victim=$(agent_on h3) # it takes a while to find, and not much is left of the training later
node training wait_for_line '^\[h1\] epoch 3/12 '
kill -KILL "$victim"
node training ends 0
node training says err "h3 is lost"
grep -qE '^\[h1\] resumed at epoch [1-9]' "$nodes/training/out" || fail "it did not resume"
accuracy=$(sed -nE 's/^\[h1\] final test accuracy ([0-9.]+) %.*/\1/p' "$nodes/training/out")
awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 95) }' || fail "test accuracy ${accuracy:-unknown} %"
nothing_of_the_job_on h1 h2 h3
nothing_on me
