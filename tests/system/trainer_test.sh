#!/usr/bin/env bash
# An unchanged script of Hugging Face's Trainer tells its step, its loss and its time left, and its own way of
# telling them is left alone where it has one.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$(realpath "$0")")
need_torch
# To import them just for that would take five seconds of a processor.
"$python" -c 'import importlib.util, sys
sys.exit(not all(map(importlib.util.find_spec, ["transformers", "accelerate"])))' ||
  skip "there is no transformers or no accelerate for $python"
export OMP_NUM_THREADS=1

export http_proxy=http://127.0.0.1:9 # no process listens there
start --nproc-per-node 2 --rdzv-id hf "$here/programs/hf_trainer.py"
tells() { # FIELD: the job's status has a number there
  "$DDPRUN" status hf --json | grep -qE "\"$1\":[0-9]"
}
until_true 300 "a step" tells step
until_true 60 "the time left" tells left_s
tells_rest() {
  "$DDPRUN" status hf --json >"$scratch/status" && grep -q '"steps":100000' "$scratch/status" &&
    grep -q '"has_loss":true' "$scratch/status"
}
until_true 60 "the number of steps, and the loss" tells_rest
kill -INT "$pid"
ends 130

cat >"$scratch/variables.sh" <<'SH'
echo "url ${KUBEFLOW_TRAINER_SERVER_URL:-none} token ${KUBEFLOW_TRAINER_SERVER_TOKEN:-none}"
SH
run 0 --no-python sh "$scratch/variables.sh"
grep -qE "^url http://127.0.0.1:[0-9]+/0 token $TMPDIR/.*/trainer_token\$" "$scratch/out" ||
  fail "a worker is not told where to tell its step: $(cat "$scratch/out")"
run 0 --no-introspection --no-python sh "$scratch/variables.sh"
says out "url none token none"
KUBEFLOW_TRAINER_SERVER_URL=https://mine run 0 --no-python sh "$scratch/variables.sh"
says out "url https://mine token none"
