#!/usr/bin/env bash
# A debugger is opened in one rank of a running job, at a breakpoint, and where a program would end by an error. The
# rank goes on however the debugger is left.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/steps.py" <<'PY'
"""Steps until a file is there. Rank 1 stops at a breakpoint before, rank 2 ends by an error behind."""

import os
import time

RANK = os.environ["RANK"]


def step(number):
    doubled = number * 2
    return doubled


def main():
    number = 0
    while not os.path.exists("end"):
        number += 1
        step(number)
        with open("new." + RANK, "w") as file:
            file.write(str(number))
        os.rename("new." + RANK, "step." + RANK)
        time.sleep(0.01)


os.chdir(os.path.dirname(__file__))
if RANK == "1":
    secret = 77
    breakpoint()
    open("seen", "w").write(str(secret))
main()
if RANK == "2":
    lost = {"found": 5}
    lost["missing"]
PY

# debug RANK COMMAND...: the commands of a debugger's user, who leaves behind them.
debug() {
  local rank=$1
  shift
  printf '%s\n' "$@" | timeout 60 "$DDPRUN" debug steps "$rank" >"$scratch/debugged" 2>&1 ||
    fail "ddprun debug: exit code $?: $(cat "$scratch/debugged")"
}
shows() { grep -qF -- "$1" "$scratch/debugged" || fail "'$1' is not shown: $(cat "$scratch/debugged")"; }
steps_of() { cat "$scratch/step.$1" 2>/dev/null || echo 0; }
# goes_on RANK: waits until the rank has done a further step.
goes_on() {
  local before
  before=$(steps_of "$1")
  further() { [ "$(steps_of "$1")" -gt "$before" ] 2>/dev/null; }
  until_true 60 "rank $1 to go on" further "$1"
}

export XDG_RUNTIME_DIR=$scratch/run # no other job is there
mkdir -m 700 "$XDG_RUNTIME_DIR"
start --nproc-per-node 3 --rdzv-id steps --debug-on-error=120 "$scratch/steps.py"
wait_for_message "rank 1 waits at steps.py:[0-9]* for a debugger .breakpoint.., at most 120 s.: ddprun debug 1"

# --- At a breakpoint.
waits_shown() { "$DDPRUN" status steps | grep -q "rank 1 waits at steps.py:[0-9]* for a debugger (breakpoint(), at most 120 s)"; }
until_true 60 "the status to show it" waits_shown
debug 1 'p secret' '!secret = 78' continue
shows "(rank 1) 77"
shows "rank 1 goes on."
goes_on 1
[ "$(cat "$scratch/seen")" = 78 ] || fail "what was assigned in the debugger is not there"

# --- In a loop: it stops between two instructions, at a breakpoint, and goes on when its user leaves.
goes_on 0
debug 0 'break step' continue 'p number > 0' next 'p doubled == number * 2' 'clear 1' quit
shows "(rank 0) True"
shows "rank 0 goes on."
goes_on 0
debug 2 where # and the end of the input
shows "main()"
goes_on 2

# --- One debugger in a rank at a time, and another in another rank. Ctrl-C stops it again.
mkfifo "$scratch/commands"
"$DDPRUN" debug steps 0 <"$scratch/commands" >"$scratch/first" 2>&1 &
first=$!
exec 5>"$scratch/commands"
until_true 60 "the first debugger to be there" grep -q "(rank 0)" "$scratch/first"
code=0
"$DDPRUN" debug steps 0 </dev/null >"$scratch/debugged" 2>&1 || code=$?
[ "$code" = 71 ] || fail "a second debugger in the rank ends with $code"
shows "rank 0 is being debugged already"
status_shows() { "$DDPRUN" status steps | grep -q "rank 0 is being debugged"; }
until_true 60 "the status to show it" status_shows
debug 2 'p RANK' quit
shows "(rank 2) '2'"
echo 'break step, number < 0' >&5
echo continue >&5
until_true 60 "it to run" grep -q "goes on to a breakpoint" "$scratch/first"
goes_on 0
places=$(grep -c "> /" "$scratch/first")
kill -INT "$first"
stopped_again() { [ "$(grep -c "> /" "$scratch/first")" -gt "$places" ]; }
until_true 60 "it to stop again" stopped_again

# --- The user's terminal is lost: nothing is left in the rank.
kill -KILL "$first"
wait "$first" 2>/dev/null || true
exec 5>&-
goes_on 0
no_longer_shown() { ! "$DDPRUN" status steps | grep -q "debug"; }
until_true 60 "the status to show nothing of it" no_longer_shown
debug 0 'p number > 0' quit
shows "(rank 0) True"

# --- A user who is gone before ddprun can answer: nothing is left of it.
kill -STOP "$pid"
python3 - "$(find "$XDG_RUNTIME_DIR" -name control -type s)" <<'PY'
import socket
import sys

with socket.socket(socket.AF_UNIX) as user:
    user.connect(sys.argv[1])
    user.sendall(b"POST /debug?rank=2&socket=/nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
PY
kill -CONT "$pid"
until_true 60 "the status to show nothing of it" no_longer_shown
debug 2 'p RANK' quit
shows "(rank 2) '2'"

# --- Words that mean no rank.
code=0
"$DDPRUN" debug steps 7 >"$scratch/debugged" 2>&1 || code=$?
[ "$code" = 127 ] || fail "no such rank: exit code $code"
shows "the job has no rank 7 now"

# --- With an error.
touch "$scratch/end"
wait_for_message "rank 2 waits at steps.py:[0-9]* for a debugger .KeyError: .missing., at most 120 s.: ddprun debug 2"
debug 2 'p lost' quit
shows "(rank 2) {'found': 5}"
ends 1
says err "rank 2 exited with code 1: KeyError at steps.py"
nothing_left
