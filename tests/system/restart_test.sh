#!/usr/bin/env bash
# A worker that fails makes all workers start again, as often as the budget allows.
. "$(dirname "$0")/lib.sh"

watch_lives
cat >"$scratch/worker.sh" <<'SH'
echo "attempt $TORCHELASTIC_RESTART_COUNT rank $RANK"
echo here >"$ready"
[ "$TORCHELASTIC_RESTART_COUNT" != 2 ] || exit 0
exec sleep 1000
SH
start --standalone --nproc-per-node 3 --max-restarts 2 --no-python sh "$scratch/worker.sh"
for attempt in 0 1; do
  wait_ready 3
  kill -KILL "$(worker_pid $((attempt + 1)))"
done
ends 0
for attempt in 0 1 2; do
  for rank in 0 1 2; do says out "attempt $attempt rank $rank"; done
done
says err "was killed by SIGKILL (signal 9): stopping all workers"
says err "restart 1 of 2"
says err "restart 2 of 2"

# When the budget is spent, the report names the worker that failed first in the last attempt.
run 5 --standalone --nproc-per-node 2 --max-restarts 1 --no-python \
  sh -c '[ "$RANK" = 1 ] || exec sleep 1000; echo "dying in $TORCHELASTIC_RESTART_COUNT"; exit 5'
says err "the job failed: rank 1"
says err "  restarts: 1 of 1"
says err "    | dying in 1"

# Many restarts in a row leave nothing open behind.
run 1 --standalone --nproc-per-node 2 --max-restarts 100 --no-python \
  sh -c '[ "$RANK" = 0 ] || exit 0; exit 1'
says err "restart 100 of 100"
nothing_left
