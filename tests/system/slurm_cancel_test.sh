#!/usr/bin/env bash
# `scancel` leaves no process on any node, in a step and in a batch script; a signal to ddprun in the
# batch script reaches the workers of all nodes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"

need_slurm 4
cat >"$slurm/stubborn.sh" <<'SH'
trap '' TERM USR1 # and a child that has left its parent
setsid sleep 9999 &
echo "$(uname -n) $RANK $WORLD_SIZE $$" >"$ready"
while :; do sleep 1000; done
SH

for command in srun ''; do
  submit --nodes=4 --wrap="$command '$DDPRUN' --nproc-per-node 2 --no-python bash '$slurm/stubborn.sh'"
  wait_for_world h1 h1 h2 h2 h3 h3 h4 h4
  on ctl scancel "$job"
  job_ends "$job" CANCELLED
  no_process_of stubborn.sh
  no_process_of "sleep 9999"
  no_process_of --no-python
done

# Signals that srun would not hand on.
cat >"$slurm/polite.sh" <<'SH'
trap 'echo "$RANK was asked"; exit 0' USR1
trap '' TERM # Slurm sends its signals to every process of a step
echo "$(uname -n) $RANK $WORLD_SIZE $$" >"$ready"
while :; do sleep 0.1; done
SH
for signal in USR1 TERM; do
  submit --nodes=4 --wrap="exec '$DDPRUN' --no-python bash '$slurm/polite.sh'"
  wait_for_world h1 h2 h3 h4
  on ctl scancel --batch --signal="$signal" "$job"
  job_ends "$job" FAILED
  for rank in 0 1 2 3; do job_says "$job" "^$rank was asked"; done
  [ "$(field "$job" ExitCode)" = 85:0 ] || job_failed "$job" "exit code $(field "$job" ExitCode)"
done
