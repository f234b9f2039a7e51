#!/usr/bin/env bash
# `ddprun` in the batch script itself starts on all nodes of the allocation; scripts written for
# torchrun, with #SBATCH lines for one task per worker, work as they are.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"

need_torch
PATH=$(dirname "$DDPRUN"):$(dirname "$python"):$PATH
need_slurm 4
cp "$(realpath "$(dirname "$0")")/programs/slurm_ddp.py" "$slurm/python_script.py"

# script DIRECTIVES... -- COMMAND: a batch script of that text.
script() {
  local line
  echo '#!/bin/bash'
  for line; do
    [ "$line" != -- ] || break
    echo "#SBATCH $line"
  done
  echo "${*: -1}"
}

# The program starts its workers itself.
script --nodes=1 --ntasks=2 --gpus=2 --cpus-per-task=18 --partition=gpu -- \
  "python python_script.py arguments" >"$slurm/spawn.sbatch"
# One node.
script --nodes=1 --ntasks=2 --gpus=2 --cpus-per-task=18 --partition=gpu --time=00:05:00 -- \
  "ddprun --nnodes=1 --nproc_per_node=2 python_script.py arguments" >"$slurm/one.sbatch"
# Two nodes, four workers on each.
script --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 --cpus-per-task=18 --partition=gpu \
  --time=00:05:00 -- \
  "ddprun --nnodes=2 --nproc_per_node=4 python_script.py arguments" >"$slurm/two.sbatch"
submit "$slurm/spawn.sbatch" && spawn=$job
submit "$slurm/one.sbatch" && one=$job
job_ends "$spawn" COMPLETED
job_says "$spawn" "^rank 1 of 2 on h[1-4] done: arguments"
job_ends "$one" COMPLETED
job_says "$one" "^rank 1 of 2 on h[1-4] done: arguments"
submit "$slurm/two.sbatch"
job_ends "$job" COMPLETED
for rank in 0 1 2 3 4 5 6 7; do
  job_says "$job" "^rank $rank of 8 on h[1-4] done: arguments"
done
[ "$(grep -oE '^rank .* on h[1-4]' "$slurm/out/$job" | awk '{ print $6 }' | sort -u | wc -l)" = 2 ] ||
  job_failed "$job" "it did not run on two nodes"
# The nodes were handed a secret, and say nothing of having none.
job_says_not "$job" "there is no secret"

# Its exit code is the job's.
script --nodes=2 -- "ddprun --no-python sh -c 'exit 7'" >"$slurm/fails.sbatch"
submit "$slurm/fails.sbatch"
job_ends "$job" FAILED
[ "$(field "$job" ExitCode)" = 7:0 ] || job_failed "$job" "exit code $(field "$job" ExitCode)"
# All nodes share the job's output: what concerns all of them is printed once.
job_says "$job" "the job failed: (rank [01]|ranks 0-1) on h[12] exited with code 7"
for news in "the job failed" "stopping all workers"; do
  [ "$(grep -c "$news" "$slurm/out/$job")" = 1 ] || job_failed "$job" "several nodes say '$news'"
done
