#!/usr/bin/env bash
# The batch scripts of scripts/slurm work as users submit them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"
. "$(dirname "$0")/slurm_training.sh"

need_slurm 5
program=(--data "$data" --epochs 8 --lr 3e-3)

# Fewer workers than the made-up GPUs: this machine computes for all of them.
submit --gpus-per-node=1 "$scripts/single-node.sbatch" "$train_digits_py" "${program[@]}" \
  --checkpoint-dir "$scratch/single"
job_ends "$job" COMPLETED
has_learned "$job"

submit "$scripts/cpp-sdk.sbatch" "$train_digits" "${program[@]}" --checkpoint-dir "$scratch/cpp"
job_ends "$job" COMPLETED
has_learned "$job"

submit "$scripts/elastic.sbatch" --no-python "$train_digits" "${program[@]}" \
  --checkpoint-dir "$scratch/elastic"
job_ends "$job" COMPLETED
has_learned "$job"
job_says "$job" "this one waits as a spare"

submit "$scripts/multi-node.sbatch" "$train_digits_py" "${program[@]}" \
  --checkpoint-dir "$scratch/multi"
job_ends "$job" COMPLETED
has_learned "$job"
