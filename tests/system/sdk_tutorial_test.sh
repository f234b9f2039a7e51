#!/usr/bin/env bash
# The steps of the SDK's tutorial, from one process to several nodes, all end with the loss of the
# first.
. "$(dirname "$0")/lib.sh"

programs=$(dirname "$DDPRUN")
[ -x "$programs/step1_single_process" ] || skip "built without the worker SDK: there are no examples"
examples=$(cd "$(dirname "$0")/../../worker_sdk/examples" && pwd)
export OMP_NUM_THREADS=1

# ends_with_that_loss NAME: checks the output in $scratch/out.
ends_with_that_loss() {
  local line
  line=$(grep '^epoch' "$scratch/out" | tail -n 1)
  # The order of a sum may change the last digit.
  awk -v a="$loss" -v b="${line##* }" 'BEGIN { exit !(a - b < 2e-5 && b - a < 2e-5) }' ||
    fail "$1 ends with '$line', expected the loss $loss"
}
step() {
  timeout 120 "$programs/$1" "${@:2}" >"$scratch/out" 2>"$scratch/err" || fail "$* exited with $?"
}

step step1_single_process
loss=$(sed -nE 's/^epoch 4 loss ([0-9.]+)$/\1/p' "$scratch/out")
first=$(sed -nE 's/^epoch 1 loss ([0-9.]+)$/\1/p' "$scratch/out")
awk -v a="$first" -v b="$loss" 'BEGIN { exit !(b > 0 && b < a / 2) }' ||
  fail "the loss went from '$first' to '$loss'"

for name in step2_spawn step3_ddp; do
  step "$name"
  ends_with_that_loss "$name"
done
step step4_checkpoint "$scratch/step4"
says out "goes on after epoch 2"
ends_with_that_loss step4_checkpoint
for way in devices pipeline; do
  step step5_model_parallel "$way"
  ends_with_that_loss "step5_model_parallel $way"
done

run 0 --standalone --nproc-per-node 2 --max-restarts 1 --no-python \
  "$programs/step6_elastic" "$scratch/step6" 3
# The newest checkpoint may still have been on its way to the disk, the one before was not.
grep -qE '^goes on after epoch [12]$' "$scratch/out" || fail "it did not go on after epoch 2, or 1"
ends_with_that_loss step6_elastic

# These stand in for Slurm's commands, for two nodes that are this machine.
mkdir "$scratch/bin"
cat >"$scratch/bin/scontrol" <<'SCRIPT'
#!/bin/sh
printf '127.0.0.1\n127.0.0.1\n'
SCRIPT
cat >"$scratch/bin/srun" <<'SCRIPT'
#!/bin/sh
"$@" &
"$@" || exit
wait $!
SCRIPT
chmod +x "$scratch/bin/scontrol" "$scratch/bin/srun"
port=$(own_port)
PATH=$scratch/bin:$PATH SLURM_JOB_NODELIST="n[1-2]" SLURM_NNODES=2 SLURM_JOB_ID=7 WORKERS_PER_NODE=1 \
  RDZV_PORT=$port timeout 120 bash "$examples/step7_multi_node.sbatch" "$DDPRUN" \
  "$programs/step6_elastic" "$scratch/step7" >"$scratch/out" 2>"$scratch/err" ||
  fail "step7_multi_node.sbatch exited with $?"
ends_with_that_loss step7_multi_node
nothing_left
