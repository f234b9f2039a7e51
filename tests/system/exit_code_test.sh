#!/usr/bin/env bash
# ddprun exits as the first worker that failed did, and says which that was.
. "$(dirname "$0")/lib.sh"

run 0 --standalone --nproc-per-node 4 --no-python true
[ ! -s "$scratch/err" ] || fail "a job that went well is silent"

run 3 --standalone --nproc-per-node 2 --no-python \
  sh -c '[ "$RANK" = 0 ] || { echo last words >&2; exit 3; }; exec sleep 1000'
says err "the job failed: rank 1 on $(uname -n) exited with code 3: last words"
says err "  process: local rank 1, pid "

run 139 --standalone --nproc-per-node 2 --no-python \
  sh -c '[ "$RANK" = 1 ] || kill -SEGV $$; exec sleep 1000'
says err "rank 0"
says err "was killed by SIGSEGV (signal 11"

# A parent that ignores SIGCHLD does not make ddprun believe that all went well.
ddprun=$DDPRUN
DDPRUN=$scratch/deaf
printf '#!/bin/sh\nexec env --ignore-signal=CHLD "%s" "$@"\n' "$ddprun" >"$DDPRUN"
chmod +x "$DDPRUN"
run 3 --no-python sh -c 'exit 3'
DDPRUN=$ddprun

# Bad input is reported before anything starts.
run 2 --bogus train.py
says err "there is no option '--bogus'"
run 2
says err "script to run is missing"
run 127 nothing.py
says err "there is no script 'nothing.py'"
run 127 --no-python nothing
says err "there is no program 'nothing' in PATH"
echo "print()" >"$scratch/train.py"
DDPRUN=$(realpath "$DDPRUN")
cd "$scratch"
run 127 --no-python train.py
says err "without --no-python, Python runs './train.py'"
chmod +x train.py
run 127 --no-python train.py
says err "did you mean './train.py'?"
cd "$OLDPWD"
touch "$scratch/data"
run 126 --no-python "$scratch/data"
says err "is not executable"
printf '#!/nonexistent/interpreter\n' >"$scratch/broken"
chmod +x "$scratch/broken"
run 127 --no-python "$scratch/broken"
says err "cannot start '$scratch/broken'"
nothing_left
