# shellcheck shell=bash disable=SC2034,SC2154 # tests use what is set here; slurm is of slurm.sh
# The training of the digits, as the batch scripts of scripts/slurm run it. A test sources this
# file after slurm.sh.
need_torch
train_digits=$(dirname "$DDPRUN")/train_digits
[ -x "$train_digits" ] || skip "built without the worker SDK: there is no train_digits"
scripts=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../scripts/slurm")
train_digits_py=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../worker_sdk/examples/train_digits.py")
data=$(find "$DDPRUN_TORCH_ENV" -path '*/sklearn/datasets/data/digits.csv.gz' -print -quit)
PATH=$(dirname "$DDPRUN"):$PATH

# has_learned JOB: fails unless the last accuracy that it prints is 90 % or more.
has_learned() {
  local accuracy
  accuracy=$(sed -nE 's/^final test accuracy ([0-9.]+) %$/\1/p' "$slurm/out/$1" | tail -n 1)
  awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 90) }' ||
    job_failed "$1" "its test accuracy is '$accuracy' %"
}
