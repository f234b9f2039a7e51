#!/usr/bin/env bash
# `srun ddprun PROGRAM` needs no other option: nodes, ranks, endpoint and run id are Slurm's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"

# shellcheck disable=SC2016
say='echo "$(uname -n) is rank $RANK of $WORLD_SIZE in $TORCHELASTIC_RUN_ID, store at $MASTER_ADDR"'

need_slurm 4
submit --nodes=4 --wrap="srun '$DDPRUN' --nproc-per-node 2 --no-python sh -c '$say'"
job_ends "$job" COMPLETED
for i in 1 2 3 4; do
  job_says "$job" "^h$i is rank $((2 * i - 2)) of 8 in $job.0, store at h1"
  job_says "$job" "^h$i is rank $((2 * i - 1)) of 8 in $job.0"
done
job_says "$job" "Slurm job $job: node 0 of 4, coordinator at h1:[0-9]+, run id $job.0"
job_says_not "$job" "node 1 of 4"
job_says "$job" "there is no secret \(--secret-file\): anyone who reaches port"

# As many workers as Slurm grants GPUs.
submit --nodes=1 --gpus-per-node=3 \
  --wrap="srun '$DDPRUN' --nproc-per-node gpu --no-python sh -c '$say'"
job_ends "$job" COMPLETED
job_says "$job" "^h[1-4] is rank 2 of 3 in $job.0"

# Several ddprun on a node print which option to change.
submit --nodes=1 --ntasks-per-node=4 --wrap="srun '$DDPRUN' --no-python true"
job_ends "$job" FAILED
[ "$(field "$job" ExitCode)" = 2:0 ] || job_failed "$job" "its exit code is $(field "$job" ExitCode)"
job_says "$job" "srun has started 4 ddprun on this node.*--ntasks-per-node=1"

# All nodes take the same command line, so one of them prints the warnings about it.
submit --nodes=4 --ntasks-per-node=1 --wrap="srun '$DDPRUN' --monitor-interval 1 --no-python true"
job_ends "$job" COMPLETED
[ "$(grep -c -- "--monitor-interval has no effect" "$slurm/out/$job")" = 1 ] || job_failed "$job" "not said once"

# Where each is a job of its own, their number does not matter.
submit --nodes=1 --ntasks-per-node=4 --wrap="srun '$DDPRUN' --standalone --no-python sh -c '$say'"
job_ends "$job" COMPLETED
[ "$(grep -c "is rank 0 of 1 in" "$slurm/out/$job")" = 4 ] || job_failed "$job" "there are no four jobs"

# What is typed into the shell of srun --pty is one ddprun, and a step that is started from there is not typed.
if [ -n "$(command -v script)" ]; then
  printf '%s\n' "'$DDPRUN' --nproc-per-node 2 --no-python sh -c '$say'" \
    "srun --overlap --ntasks-per-node=2 --ntasks=2 '$DDPRUN' --no-python sh -c '$say' </dev/null" exit |
    on ctl timeout 100 script -qec "srun --nodes=1 --ntasks=4 --pty bash --norc -i" /dev/null >"$slurm/out/shell" 2>&1 ||
    true # the second line fails, and the shell ends as it did
  job_says shell "shell of srun --pty: one node, run id"
  job_says shell "is rank 1 of 2 in [0-9]+.0"
  job_says shell "srun has started 2 ddprun on this node"
fi

# Two jobs on the same nodes, and two steps of one job, do not meet.
for _ in 1 2; do
  submit --nodes=4 --overcommit --wrap="srun '$DDPRUN' --no-python sh '$worker'"
done
first=$((job - 1))
for _ in 1 2 3 4 5 6 7 8; do
  read -r -t 60 -u 7 _ rank size pid || fail "not all workers of two jobs run"
  [ "$size" = 4 ] || fail "a world of $size"
  kill -USR1 "$pid"
done
job_ends "$first" COMPLETED
job_ends "$job" COMPLETED
