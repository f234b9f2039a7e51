#!/usr/bin/env bash
# Ctrl-C, SIGTERM, SIGHUP and SIGQUIT stop everything, and nothing is left.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/worker.sh" <<'SH'
exec 9>"$alive"
sleep 1000 & # a data loader, as it were: in the worker's group
setsid sleep 1000 & # a daemon: in a session of its own
echo here >"$ready"
wait
SH
for signal in INT TERM HUP QUIT; do
  watch_lives
  start --standalone --nproc-per-node 2 --no-python sh "$scratch/worker.sh"
  wait_ready 2
  kill -s "$signal" "$pid"
  ends $((128 + $(kill -l "$signal")))
  all_dead
  says err "SIG$signal received"
  nothing_left
done

# A worker that does not want to end is killed when its time is over.
cat >"$scratch/stubborn.sh" <<'SH'
trap '' TERM INT
exec 9>"$alive"
echo here >"$ready"
while :; do sleep 1000; done
SH
watch_lives
start --standalone --nproc-per-node 2 --shutdown-timeout 0.2 --no-python sh "$scratch/stubborn.sh"
wait_ready 2
kill -TERM "$pid"
ends 143
all_dead

# Workers may end in order: what they say while they stop is still heard.
cat >"$scratch/orderly.sh" <<'SH'
trap 'echo "rank $RANK saved its state"; exit 0' TERM
exec 9>"$alive"
echo here >"$ready"
sleep 1000 & wait
SH
watch_lives
start --standalone --nproc-per-node 2 --no-python sh "$scratch/orderly.sh"
wait_ready 2
kill -TERM "$pid"
ends 143
all_dead
says out "rank 0 saved its state"
says out "rank 1 saved its state"

# nohup: a signal that was ignored when ddprun was started does not stop it.
export go=$scratch/go
mkfifo "$go"
watch_lives
(
  trap '' HUP
  exec "$DDPRUN" --standalone --no-python sh -c \
    'exec 9>"$alive"; echo here >"$ready"; read -r word <"$go"; echo "$word"' \
    >"$scratch/out" 2>"$scratch/err"
) &
pid=$!
wait_ready 1
kill -HUP "$pid"
echo still here >"$go"
ends 0
all_dead
says out "still here"
