#!/usr/bin/env bash
# However badly workers behave, the exit code is right and nothing is left.
. "$(dirname "$0")/lib.sh"

export scratch
mark_processes

# behaves WHAT CODE SCRIPT: two workers run the shell script, and ddprun must exit with CODE.
behaves() {
  run "$2" --nproc-per-node 2 --shutdown-timeout 0.3 --no-python sh -c "$3"
  no_process_left "$1"
  nothing_left
}

behaves "rank 0 ignores SIGTERM while rank 1 fails" 3 \
  'if [ $RANK = 1 ]; then exit 3; fi; trap "" TERM; while :; do sleep 1000; done'
behaves "it forks twice and ends" 0 '(setsid sleep 1000 &) & (sleep 1000 &); exit 0'
behaves "it closes its output" 0 'exec 1>&- 2>&-; exit 0'
behaves "it closes its output and fails" 7 'exec 1>&- 2>&-; exit 7'
behaves "it closes everything and goes on" 3 \
  '[ $RANK = 0 ] || exit 3; exec 0<&- 1>&- 2>&-; exec sleep 1000'
behaves "it writes binary nonsense" 0 'head -c 200000 /dev/urandom; head -c 200000 /dev/urandom >&2'
behaves "it is suspended" 3 'if [ $RANK = 1 ]; then exit 3; fi; kill -STOP $$; sleep 1000'
behaves "it suspends its children, too" 3 \
  'if [ $RANK = 1 ]; then exit 3; fi; sleep 1000 & kill -STOP $!; kill -STOP $$; sleep 1000'
behaves "it makes zombies" 3 \
  'if [ $RANK = 1 ]; then for i in 1 2 3 4 5; do (sh -c "sh -c \"exit 0\" & exec sleep 0.01" &); done; sleep 0.05; exit 3; fi
   for i in 1 2 3 4 5 6 7 8; do sh -c "exit 1" & done; exec sleep 1000'
behaves "it aborts at once" 134 'kill -ABRT $$'
behaves "it is killed at once" 137 'kill -KILL $$'
behaves "it leaves its process group" 3 \
  '[ $RANK = 0 ] || exit 3; setsid sh -c "trap \"\" TERM HUP INT; sleep 1000" & sleep 1000'
behaves "it forks while it is killed" 3 \
  '[ $RANK = 0 ] || { sleep 0.05; exit 3; }; trap "" TERM
   # No more than that many, lest a machine on which rank 1 is late runs out of processes.
   for i in $(seq 1000); do (setsid sleep 1000 &); done; while :; do sleep 1000; done'

# A worker that cannot start is reported as a shell does it, on the first and on every attempt.
printf '#!/nonexistent/interpreter\n' >"$scratch/broken"
chmod +x "$scratch/broken"
run 127 --nproc-per-node 3 --max-restarts 2 --no-python "$scratch/broken"
says err "restart 2 of 2"
no_process_left "an interpreter that is not there"
nothing_left

# 200 restarts in a row: no file, no process and no memory is left from any of them. The worker of
# every attempt counts what ddprun, its parent, has open.
run 1 --nproc-per-node 2 --max-restarts 200 --no-python sh -c \
  'ls /proc/$PPID/fd | wc -l >>"$scratch/files"; grep VmRSS /proc/$PPID/status >>"$scratch/memory"
   setsid sleep 1000 & [ $RANK = 0 ] || exec sleep 1000; exit 1'
[ "$(tail -n 50 "$scratch/files" | sort -n | tail -n 1)" -le "$(($(sort -n "$scratch/files" | head -n 40 | tail -n 1) + 8))" ] ||
  fail "files stay open: $(sort -n "$scratch/files" | uniq -c)"
early=$(sed -n 40p "$scratch/memory" | tr -dc 0-9)
late=$(tail -n 1 "$scratch/memory" | tr -dc 0-9)
! memory_counts || [ "$late" -le $((early + 1024)) ] || fail "memory grows: $early kB after 20 attempts, $late kB after 200"
no_process_left "200 restarts"
nothing_left

# If there are too many workers for the files that a process may open, an error says so before any is started.
code=0
(
  ulimit -n 60
  exec "$DDPRUN" --nproc-per-node 64 --no-python touch "$scratch/started"
) >"$scratch/out" 2>"$scratch/err" || code=$?
[ "$code" = 71 ] || fail "exit code $code, expected 71"
says err "64 workers need about 224 open files, and the system allows 60"
[ ! -e "$scratch/started" ] || fail "a worker was started"

# 1,000 workers on one node start, and end at a signal.
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 3100 ] || exit 0
watch_lives
start --nproc-per-node 1000 --no-python sh -c 'exec 9>"$alive"; echo >"$ready"; exec sleep 1000'
wait_ready 1000
kill -s TERM "$pid"
ends 143
all_dead
no_process_left "1,000 workers"
nothing_left
