#!/usr/bin/env bash
# A step that was started from elsewhere goes on when its first node, which coordinates the job, is cut off.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"
. "$(dirname "$0")/slurm_training.sh"

need_slurm 3
step=$slurm/out/step
: >"$step"
exec_on ctl srun --job-name=step --chdir="$slurm" --nodes=3 --ntasks-per-node=1 --no-kill --wait=0 \
  --kill-on-bad-exit=0 ddprun --nnodes 2:3 --nproc-per-node 1 --max-restarts 0 --rdzv-conf heartbeat_timeout=5 \
  --no-python "$train_digits" --data "$data" --epochs 40 --checkpoint-dir "$scratch/checkpoints" \
  >>"$step" 2>&1 </dev/null 7>&- &
srun=$!
wait_until_job_says step '^epoch 5/40 '
cut_off h1
wait_until_job_says step "the coordinator is at .* now"
wait_until_job_says step '^resumed at epoch'
wait "$srun" || echo "srun has ended with $?: it tells of the node that was lost"
has_learned step
job_says_not step "restart 1 of"

heal h1
no_process_of train_digits
