#!/usr/bin/env bash
# For scripts/bench slurm: runs job steps on a real Slurm of four nodes, taking turns, and prints
# `NAME SECONDS` for each: from srun's start to the last worker's first instruction.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"
stamp=$(realpath "$2") # prints CLOCK_MONOTONIC in seconds
runs=$3
torchrun=${4:-}

need_slurm 4
cat >"$slurm/turns.sh" <<'SH'
#!/bin/bash
# turn NAME COMMAND...: its workers print times.
turn() {
  local name=$1 start last
  shift
  start=$("$stamp")
  last=$(srun --ntasks-per-node=1 "$@" 2>/dev/null | sort -n | tail -n 1)
  awk -v name="$name" -v a="$start" -v b="$last" 'BEGIN { print name, b - a }' >>"$results"
}
for ((i = 0; i <= runs; i++)); do
  turn srun "$stamp"
  turn ddprun "$DDPRUN" --no-python "$stamp"
  if [ -n "$torchrun" ] && ((i < 3)); then
    turn torchrun "$torchrun" --nnodes 4 --rdzv-backend c10d --rdzv-endpoint h1:29500 \
      --rdzv-id "$i" --no-python "$stamp"
  fi
done
SH
export DDPRUN stamp runs torchrun results=$slurm/results
submit --nodes=4 "$slurm/turns.sh"
job_ends "$job" COMPLETED
cat "$results"
