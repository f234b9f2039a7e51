#!/usr/bin/env bash
# A folder whose server or disk is gone holds nobody who only looks at it: `ddprun doctor` says which one it is, in
# time, and nothing of it keeps a stream of ours open. A job that begins waits for its folders until a signal ends it,
# and one that has ended does not wait for long.
. "$(dirname "$0")/lib.sh"
threads_may_be_left

programs=$(dirname "$(realpath "$0")")/programs
mkdir "$scratch/hung"
python3 "$programs/hung_folder.py" server "$scratch/hung" true || skip "no folder can be made to hang here"

# with HUNG_KIND COMMAND...: its output is in $scratch/out, and its exit code in $code. A command that is held would be
# for ever.
with() {
  local kind=$1
  shift
  code=0
  timeout -s KILL 120 python3 "$programs/hung_folder.py" "$kind" "$scratch/hung" "$@" >"$scratch/out" 2>&1 || code=$?
  [ "$code" != 137 ] || fail "it does not end where a $kind hangs: $*"
}

echo 'import os' >"$scratch/train.py"
for kind in server disk; do
  with "$kind" env "PATH=$scratch/hung:$PATH" "$DDPRUN" doctor "$scratch/train.py"
  says out "no answer within 5 s"
  # shellcheck disable=SC2016
  with "$kind" sh -c '"$1" doctor --checkpoint-dir "$2" | cat' sh "$DDPRUN" "$scratch/hung"
  says out "is its disk or its server there?"
  with "$kind" "$DDPRUN" doctor "$scratch/hung/train.py"
  grep -q "failed *script" "$scratch/out" || fail "the script is not named where a $kind hangs"
  ! grep -q "does not run" "$scratch/out" || fail "Python is named where the script hangs"
done

# Nothing is begun yet, so the signal that `timeout` sends ends it as any program. A note says what it waits for.
waits() { # PLACE ARGUMENTS...
  with server timeout 6 "$DDPRUN" "${@:2}"
  [ "$code" = 124 ] || fail "exit code $code, expected 124: ddprun ${*:2}"
  says out "no answer for 5 s from '$1"
}
waits "$scratch/hung" --log-dir "$scratch/hung" --no-python true
waits "$scratch/hung/events" --event-log "$scratch/hung/events" --no-python true
waits "$scratch/hung/train.py" "$scratch/hung/train.py"
waits "$scratch/hung/report.json" explain "$scratch/hung/report.json"
# The folders of variables, which are used while signals are held, and files that another program gets.
job=("$DDPRUN" --no-python)
for variable in TMPDIR XDG_RUNTIME_DIR; do
  if [ "$variable" = TMPDIR ] && is_for_races; then continue; fi
  with server env "$variable=$scratch/hung" "${job[@]}" true
  [ "$code" = 0 ] || fail "exit code $code of a job where $variable hangs"
done
with server env TORCHELASTIC_ENABLE_FILE_TIMER=1 "TORCHELASTIC_TIMER_FILE=$scratch/hung/pipe" timeout 2 "${job[@]}" true
[ "$code" = 124 ] || fail "exit code $code, expected 124: a pipe of timers"
with server timeout 2 "${job[@]}" --nnodes 1:2 --rdzv-backend etcd-v2 --rdzv-endpoint 127.0.0.1:1 \
  --rdzv-conf "protocol=https,cacert=$scratch/hung/ca" true
[ "$code" = 124 ] || fail "exit code $code, expected 124: certificates"
with server timeout 2 "$DDPRUN" server --host 127.0.0.1 --port 0 --port-file "$scratch/hung/port"
[ "$code" = 124 ] || fail "exit code $code, expected 124: a server"
# shellcheck disable=SC2016
with server env "TORCHELASTIC_ERROR_FILE=$scratch/hung/error" "${job[@]}" sh -c '
  echo "{\"message\": \"recorded\"}" >"$TORCHELASTIC_ERROR_FILE"; exit 3'
[ "$code" = 3 ] || fail "exit code $code, expected 3"
says out "the error file is not copied to $scratch/hung/error: no answer within 2 s"

with server "$DDPRUN" --report-file "$scratch/hung/report.json" --no-python true
[ "$code" = 0 ] || fail "exit code $code of a job whose report cannot be written"
says out "the report is not written: no answer within 2 s from $scratch/hung/report.json"
with server "$DDPRUN" --report-file "$scratch/hung/report.json" --no-python /nowhere
[ "$code" = 127 ] || fail "exit code $code of a job without a program"
