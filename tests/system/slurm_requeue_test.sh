#!/usr/bin/env bash
# A job whose time is nearly over writes a checkpoint and is queued again; it goes on from there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"
. "$(dirname "$0")/slurm_training.sh"

# nothing_lost JOB: no epoch was lost between the two runs of a requeued job.
nothing_lost() {
  local before after
  before=$(grep -B 1000 -m 1 '^resumed at' "$slurm/out/$1" | sed -nE 's|^epoch ([0-9]+)/.*|\1|p' | tail -n 1)
  after=$(sed -nE 's/^resumed at epoch ([0-9]+) .*/\1/p' "$slurm/out/$1" | head -n 1)
  if [ -z "$before" ] || [ "$after" -lt "$before" ] || [ "$after" -gt "$((before + 1))" ]; then
    job_failed "$1" "epoch '$before' was the last one, and it resumed at '$after'"
  fi
}
goes_on() { # JOB
  job_ends "$1" COMPLETED
  has_learned "$1"
  nothing_lost "$1"
  job_says "$1" "exit code 85"
  [ "$(field "$1" Restarts)" = 1 ] || job_failed "$1" "Restarts=$(field "$1" Restarts)"
}

need_slurm 4

# Slurm ends the job after a minute and signals 50 s before that, for it looks twice a minute only.
submit --nodes=4 --time=1 --signal=B:USR1@50 "$scripts/elastic.sbatch" --no-python "$train_digits" \
  --data "$data" --epochs 4000 --checkpoint-dir "$scratch/first"
limited=$job
wait_until_job_says "$limited" 'SIGUSR1 announces the end of this run: workers have 80 s'
wait_until_job_says "$limited" '^resumed at epoch'
nothing_lost "$limited"
on ctl scancel "$limited"
job_ends "$limited" CANCELLED # and is not queued again
no_process_of train_digits

# A signal sent by hand to all steps does the same for the batch script that hands on none. Its job then runs to its
# end.
submit "$scripts/cpp-sdk.sbatch" "$train_digits" --data "$data" --epochs 60 \
  --checkpoint-dir "$scratch/second"
wait_until_job_says "$job" '^epoch 10/60 '
on ctl scancel --signal=USR1 "$job"
goes_on "$job"

# A job that fails for good is not queued again.
submit --nodes=4 "$scripts/elastic.sbatch" --no-python false
job_ends "$job" FAILED
[ "$(field "$job" Restarts)" = 0 ] || job_failed "$job" "it was queued again"
