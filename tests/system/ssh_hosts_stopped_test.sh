#!/usr/bin/env bash
# A signal that stops the launcher stops the job on all hosts, in order, and sooner when repeated.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

need_ssh_hosts 3
for signal in INT HUP TERM; do
  start_hosts "$signal" --hosts h1,h2,h3 --no-python sh "$worker"
  wait_for_world h1 h2 h3
  kill -"$signal" "${agents[$signal]}"
  node "$signal" ends $((128 + $(kill -l "$signal")))
  node "$signal" says err "SIG$signal received: stopping the workers of this node"
  [ "$(grep -c "SIG$signal received" "$nodes/$signal/err")" = 1 ] || fail "all hosts say the same"
  nothing_of_the_job_on h1 h2 h3
  nothing_on me
done

# Workers end in order, told by their own agent or by the coordinator that the first to end has left;
# those that do not are killed at the third signal.
start_hosts order --hosts h1,h2 --no-python sh -c 'trap "echo saved; exit 0" INT TERM; . "$0"' "$worker"
wait_for_world h1 h2
kill -INT "${agents[order]}"
node order ends 130
node order says out "[h1] saved"
node order says out "[h2] saved"
start_hosts stubborn --hosts h1,h2 --no-python sh -c 'trap "echo no" INT; echo $$ >"$ready"; while :; do sleep 1; done'
exec 8<>"$ready"
for _ in 1 2; do read -r -t 60 -u 7 _ || fail "no worker"; done
for i in 1 2 3; do
  kill -INT "${agents[stubborn]}"
  sleep 0.4 # within 0.3 s it is the same request
done
node stubborn ends 130
nothing_of_the_job_on h1 h2 h3

# Other signals reach the workers.
start_hosts other --hosts h1,h2 --no-python sh "$worker"
wait_for_world h1 h2
kill -USR1 "${agents[other]}"
node other ends 0
nothing_of_the_job_on h1 h2 h3

# The terminal goes away: it is one that no shell has, and it is closed.
if command -v python3 >/dev/null; then
  cat >"$scratch/terminal.py" <<'PY'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
with open(sys.argv[1]) as gate: gate.readline()
os.close(terminal)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
  mkfifo "$scratch/gate"
  exec_on me python3 "$scratch/terminal.py" "$scratch/gate" "$DDPRUN" --ssh-cmd "ssh -F $ssh_config" \
    -x TMPDIR -x ready --hosts h1,h2,h3 --no-python sh "$worker" &
  terminal=$!
  wait_for_world h1 h2 h3
  echo >"$scratch/gate"
  code=0
  wait "$terminal" || code=$?
  [ "$code" = 129 ] || fail "without its terminal it ended with $code"
  nothing_of_the_job_on h1 h2 h3
  nothing_on me
fi

# A signal also ends a job that has not begun, because a host never answers.
printf '#!/bin/sh\necho "$1" >"$ready"\nexec sleep 1000\n' >"$scratch/deaf"
chmod +x "$scratch/deaf"
start_hosts early --ssh-cmd "$scratch/deaf" --hosts h1,h2 --no-python true
for _ in 1 2; do read -r -t 60 -u 7 _ || fail "no ssh"; done
kill -INT "${agents[early]}"
node early ends 130
nothing_on me
nothing_left
