#!/usr/bin/env bash
# Signals that are not requests to stop are handed on; those that are may come at any time.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/worker.sh" <<'SH'
exec 9>"$alive"
for signal in USR1 USR2 WINCH HUP TERM; do
  trap "echo rank \$RANK got $signal; echo $signal >\"\$ready\"" "$signal"
done
trap 'exit 0' INT
echo here >"$ready"
while :; do sleep 1000 & wait; done
SH

watch_lives
start --nproc-per-node 2 --signals-to-handle INT,SIGQUIT --no-python sh "$scratch/worker.sh"
wait_ready 2
for signal in USR1 USR2 WINCH HUP TERM; do
  kill -s "$signal" "$pid"
  wait_ready 2
done
kill -s INT "$pid"
ends 130
all_dead
for signal in USR1 USR2 WINCH HUP TERM; do
  for rank in 0 1; do says out "rank $rank got $signal"; done
done

# A signal may be one of those that stop.
watch_lives
start --signals-to-handle SIGUSR1 --no-python sh -c 'exec 9>"$alive"; echo here >"$ready"; exec sleep 1000'
wait_ready 1
kill -s USR1 "$pid"
ends 138
all_dead

# A suspended worker is stopped, too, and may still end in order.
watch_lives
start --no-python sh -c 'exec 9>"$alive"; trap "echo in order; exit 0" TERM; echo here >"$ready"; kill -STOP $$; while :; do sleep 1000 & wait; done'
wait_ready 1
kill -s TERM "$pid"
ends 143
all_dead
says out "in order"

# At whatever moment a signal comes, ddprun exits as it says, and leaves no process and no file. The
# pauses only spread the signals over a run's life.
mark_processes
for i in $(seq 0 39); do
  for signal in TERM INT QUIT HUP; do
    start --nproc-per-node 2 --no-python sh -c 'setsid sleep 1000 & exec sleep 1000'
    sleep "0.00$((i / 4))$((i % 4 * 25))"
    kill -s "$signal" "$pid"
    ends $((128 + $(kill -l "$signal")))
    no_process_left "SIG$signal"
    nothing_left
  done
done

# While a job fails, the exit code is the failure's or the signal's, whichever ddprun knew first.
for i in $(seq 0 9); do
  start --nproc-per-node 2 --no-python sh -c '[ $RANK = 0 ] || exit 3; setsid sleep 1000 & exec sleep 1000'
  sleep "0.00$i"
  kill -s TERM "$pid" 2>/dev/null || true
  code=0
  wait "$pid" || code=$?
  [ "$code" = 3 ] || [ "$code" = 143 ] || fail "exit code $code, expected 3 or 143"
  no_process_left SIGTERM
  nothing_left
done

# Output that no process reads does not keep ddprun from ending on a signal.
mkfifo "$scratch/unread"
exec 6<>"$scratch/unread"
: >"$scratch/err"
"$DDPRUN" --no-python sh -c 'head -c 500000 /dev/zero; exit 4' >"$scratch/unread" 2>"$scratch/err" &
pid=$!
timeout 60 grep -q -m 1 'Root Cause' < <(tail -n +1 -f --pid="$pid" "$scratch/err") || fail "there is no report"
kill -s TERM "$pid"
ends 4

# The request for a checkpoint reaches the program below a wrapper, and not its children.
cat >"$scratch/asked.py" <<'PY'
import os, signal
def save(*_):
    print("saved", flush=True)
    os._exit(0)
signal.signal(signal.SIGUSR1, save)
if os.fork() == 0:
    signal.pause()
with open(os.environ["ready"], "w") as ready:
    ready.write("here\n")
while True:
    signal.pause()
PY
for wrapper in "" "bash -c 'python3 $scratch/asked.py; exit \$?'; exit \$?"; do
  start --standalone --preempt-signal USR1 --no-python bash -c "${wrapper:-python3 $scratch/asked.py; exit \$?}"
  wait_ready 1
  kill -USR1 "$pid"
  ends 85
  [ "$(grep -c saved "$scratch/out")" = 1 ] || fail "not one process has saved"
done
# One that saves on SIGTERM alone does so.
start --standalone --preempt-signal USR1 --no-python sh -c 'trap "echo saved; exit 0" TERM; echo here >"$ready"; while :; do sleep 1000 & wait; done'
wait_ready 1
kill -USR1 "$pid"
ends 85
says out saved
start --standalone --preempt-signal USR1 --no-python sleep 1000
until_true 60 "the worker" pgrep -P "$pid" -x sleep
kill -USR1 "$pid"
ends 85
says err "rank 0 has no handler for SIGUSR1, so it gets SIGTERM, and may end without a checkpoint"
nothing_left
