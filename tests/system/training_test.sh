#!/usr/bin/env bash
# A C++ training that loses a worker goes on from its checkpoint, and ends with the same weights, bit
# by bit, as one that nothing happened to.
. "$(dirname "$0")/lib.sh"

train_digits=$(dirname "$DDPRUN")/train_digits
[ -x "$train_digits" ] || skip "built without the worker SDK: there is no train_digits"
data=$(find "$DDPRUN_TORCH_ENV" -path '*/sklearn/datasets/data/digits.csv.gz' -print -quit)

# train NAME: the command line of a training in a folder of that name.
train() {
  printf '%s\n' --standalone --nproc-per-node 2 --max-restarts 3 --no-python "$train_digits" \
    --data "$data" --epochs 12 --checkpoint-dir "$scratch/$1" --final-state "$scratch/$1.safetensors"
}

mapfile -t words < <(train undisturbed)
run 0 "${words[@]}"
accuracy=$(sed -nE 's/^final test accuracy ([0-9.]+) %$/\1/p' "$scratch/out")
awk -v a="$accuracy" 'BEGIN { exit !(a >= 95) }' || fail "test accuracy $accuracy %"
says_not out "resumed"

mapfile -t words < <(train disturbed)
start "${words[@]}"
# The victim is looked for before its time: not much is left of the training by then.
wait_for_line '^epoch 1/12 '
victim=$(worker_pid 1)
wait_for_line '^epoch 3/12 '
kill -KILL "$victim"
wait_for_line '^resumed at epoch '
victim=$(worker_pid 0)
wait_for_line '^epoch 6/12 '
kill -SEGV "$victim"
ends 0
[ "$(grep -c '^resumed at epoch [1-9]' "$scratch/out")" = 2 ] || fail "it did not resume twice"
says err "restart 2 of 3"
cmp "$scratch/undisturbed.safetensors" "$scratch/disturbed.safetensors" || fail "the weights differ"
nothing_left
