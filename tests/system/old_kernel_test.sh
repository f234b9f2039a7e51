#!/usr/bin/env bash
# ddprun does not need the system calls that came after Linux 5.0: pidfd_open(2), close_range(2) and
# others. Without them workers start again, are killed with their daemons, and get none of its files.
. "$(dirname "$0")/lib.sh"

real=$DDPRUN
for mode in '' --refuse; do
  cat >"$scratch/ddprun" <<SH
#!/bin/sh
exec python3 "$(dirname "$0")/programs/old_kernel.py" $mode "$real" "\$@"
SH
  chmod +x "$scratch/ddprun"
  DDPRUN=$scratch/ddprun

  # shellcheck disable=SC2016 # workers expand these
  run 0 --nproc-per-node 3 --max-restarts 1 --no-python sh -c '
    ls -v /proc/self/fd | tr "\n" " " | sed "s/^/files: /"
    echo
    [ "$RANK$TORCHELASTIC_RESTART_COUNT" != 20 ] || exit 3
    [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exec sleep 100'
  says err "rank 2 exited with code 3"
  says err "restart 1 of 1"
  # ls itself has the folder open.
  [ "$(grep -c '^files: 0 1 2 3 $' "$scratch/out")" -ge 3 ] ||
    fail "workers have other files than their three streams"

  # The daemon has left its session. SIGKILL leaves all to the guardian.
  mark_processes
  watch_lives
  # shellcheck disable=SC2016
  start --nproc-per-node 2 --no-python sh -c '
    exec 8>"$alive"
    setsid sleep 100 &
    echo >"$ready"
    wait'
  wait_ready 2
  kill -KILL "$pid"
  all_dead
  no_process_left "after SIGKILL"

  run 127 --nproc-per-node 1 --no-python "$scratch/nowhere"
done
