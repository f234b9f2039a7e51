#!/usr/bin/env bash
# When a node is cut off in the middle of elastic.sbatch, the other three go on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"
. "$(dirname "$0")/slurm_training.sh"

need_slurm 4
submit --nodes=4 "$scripts/elastic.sbatch" --no-python "$train_digits" --data "$data" --epochs 40 \
  --checkpoint-dir "$scratch/checkpoints"
wait_until_job_says "$job" '^epoch 5/40 '
cut_off h3
wait_until_job_says "$job" "node h3 lost"
wait_until_job_says "$job" '^resumed at epoch'
job_ends "$job" COMPLETED
has_learned "$job"
job_says_not "$job" "restart 1 of"
[ "$(field "$job" Restarts)" = 0 ] || job_failed "$job" "it was queued again"

# What is left on the node ends as soon as Slurm sees it again.
heal h3
no_process_of train_digits
