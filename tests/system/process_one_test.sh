#!/usr/bin/env bash
# As process 1 of a container ddprun reaps orphans, obeys and hands on signals, ends with the worker's
# code, and leaves nothing.
. "$(dirname "$0")/lib.sh"

ddprun=$DDPRUN
inside=(unshare --pid --fork --kill-child --mount-proc)
[ "$(id -u)" = 0 ] || inside+=(--user --map-root-user)
"${inside[@]}" true 2>/dev/null || skip "this system allows no PID namespace"
DDPRUN=$scratch/contained
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${inside[*]}" "$ddprun" >"$DDPRUN"
chmod +x "$DDPRUN"

# start_contained ARGUMENTS...: as start does; $one is process 1 as it is called out here.
start_contained() {
  start "$@"
  until_true 60 "ddprun to begin" runs_ddprun
  one=$(pgrep -P "$pid")
}
runs_ddprun() { [ "/proc/$(pgrep -P "$pid")/exe" -ef "$ddprun" ]; }

# --- Its exit code is the worker's.
run 0 --no-python true
run 5 --nproc-per-node 2 --no-python sh -c '[ "$RANK" = 1 ] || exec sleep 1000; exit 5'
run 137 --no-python sh -c 'kill -KILL $$'
run 127 --no-python nothing
nothing_left

# --- What workers leave behind is reaped while they go on.
cat >"$scratch/orphans.sh" <<'SH'
for i in 1 2 3; do
  orphan=$( (setsid sh -c 'echo $$; exit 7' &) )
  timeout 60 tail -s 0.02 --pid="$orphan" -f /dev/null || { echo "orphan $orphan is a zombie"; exit 1; }
done
setsid sleep 1000 &
list=$(ps -e -o ppid=,stat=) || exit 1
echo "$list" | grep '^ *1 *Z' && exit 1
exit 9
SH
run 9 --no-python sh "$scratch/orphans.sh"
says_not out zombie
nothing_left

# --- So are processes of a user who enters the container of a server.
start_contained server --host 127.0.0.1 --port 0
wait_for_line '^listening on '
nsenter -t "$one" --pid --mount sh -c '(setsid sh -c "exit 0" &) ; (setsid sh -c "exit 0" &)'
no_zombie() {
  local list
  list=$(nsenter -t "$one" --pid --mount ps -e -o ppid=,stat=) && ! grep '^ *1 *Z' <<<"$list"
}
until_true 60 "all orphans to be reaped" no_zombie
kill -s QUIT "$one"
ends 131

# --- Signals that stop do, and the others are handed on.
cat >"$scratch/worker.sh" <<'SH'
exec 9>"$alive"
for signal in USR1 USR2; do
  trap "echo got $signal; echo $signal >\"\$ready\"" "$signal"
done
trap 'echo in order; exit 0' TERM INT QUIT HUP
echo here >"$ready"
while :; do sleep 1000 & wait; done
SH
for signal in TERM INT QUIT HUP; do
  watch_lives
  start_contained --no-python sh "$scratch/worker.sh"
  wait_ready 1
  for handed_on in USR1 USR2; do
    kill -s "$handed_on" "$one"
    wait_ready 1
    wait_for_line "^got $handed_on" # its way to the terminal is through ddprun
  done
  kill -s "$signal" "$one"
  ends $((128 + $(kill -l "$signal")))
  all_dead
  says out "in order"
  nothing_left
done

# --- A signal that comes while ddprun still reads its files ends it, too.
mkfifo "$scratch/hosts"
for signal in TERM INT QUIT HUP USR1 USR2; do
  start_contained --hostfile "$scratch/hosts" --no-python true
  exec 5>"$scratch/hosts" # goes on when ddprun has opened it
  kill -s "$signal" "$one"
  ends $((128 + $(kill -l "$signal")))
  exec 5>&-
done

# --- In a namespace that sees the /proc of another, processes have other numbers there.
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${inside[*]/--mount-proc/}" "$ddprun" >"$DDPRUN"
run 4 --no-python sh -c 'setsid sleep 1000 & exit 4'
says_not err "could not be killed"
