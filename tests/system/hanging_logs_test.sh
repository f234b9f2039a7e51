#!/usr/bin/env bash
# A folder of logs that hangs while the job runs holds nobody: workers go on, a signal stops them, a restart comes, and
# ddprun ends with the job. It says which folder it is and what is missing there, also when the folder answers again.
. "$(dirname "$0")/lib.sh"
threads_may_be_left

programs=$(dirname "$(realpath "$0")")/programs
folder=$scratch/folder
hang=$scratch/hang # while it exists, the folder gives no answer
mkdir "$folder"
python3 "$programs/hanging_files.py" "$folder" "$hang" true || skip "no folder can be made to hang here"
export hang scratch

# within CODE COMMAND...: all of it runs while the folder may hang. Held, it would be for ever.
within() {
  local expected=$1 code=0
  shift
  rm -f "$hang"
  timeout -s KILL 180 python3 "$programs/hanging_files.py" "$folder" "$hang" "$@" \
    >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: $*"
}
# job CODE ARGUMENTS...
job() { within "$1" "$DDPRUN" "${@:2}"; }
teed=(--nproc-per-node 2 --log-dir "$folder/logs" -t 3)

# --- It hangs until the end: all else is as always ---
job 0 "${teed[@]}" --no-python sh -c 'touch "$hang"; echo "said by $RANK"'
says out '[default0]:said by 0'
says out '[default1]:said by 1'
says err "no answer for 2 s from '$folder/logs/"
says err 'is its disk or its server there?'
says err 'are missing in log files'
job 3 "${teed[@]}" --no-python sh -c 'touch "$hang"; echo "said by $RANK"; exit 3'
says err 'exited with code 3'

# --- A worker that writes more than finds room is not held, and a restart comes ---
job 0 "${teed[@]}" --max-restarts 1 --no-python sh -c '
  [ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0
  touch "$hang"
  yes "$(printf %01000d 0)" | head -c 90000000 >&2
  exit 3'
grep -qE '[0-9]{8} bytes of output are missing in log files' "$scratch/err" || fail "what is missing is not counted"

# --- A worker that writes to its file itself, and the event log ---
job 3 --log-dir "$folder/logs" -r 2 --no-python sh -c 'touch "$hang"; exit 3'
job 0 --event-log "$folder/events" --no-python sh -c 'touch "$hang"; echo said'
says err "from '$folder/events'"

# --- A worker that starts closes what it has inherited: that is no file of the folder, which would hold it ---
if ! is_for_races; then
  FLUSH=1 job 0 --event-log "$folder/events" --max-restarts 1 --no-python sh -c '
  if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then touch "$hang"; exit 3; fi
  rm "$hang"'
  says err "restart 1 of 1"
fi

# --- The program's disk goes: one worker runs, another one's start hangs, and the end of the first ends the job ---
HANG_AT_OPEN=3 within 126 sh -c '
  cp /bin/sh "$scratch/folder/sh"; chmod +x "$scratch/folder/sh"; cat "$scratch/folder/sh" >"$scratch/read"
  exec "$0" --nproc-per-node 2 --no-python "$scratch/folder/sh" -c "exit 3"' "$DDPRUN"
says err "no answer from '$folder/sh' when it was started"
says err 'exited with code 3'

# --- It answers again: nothing is missing ---
job 0 "${teed[@]}" --report-file "$scratch/report" --no-python sh -c '
  if [ "$RANK" = 0 ]; then
    touch "$hang"; echo "said while it hangs"
    until grep -q "no answer for" "$scratch/err"; do sleep 0.05; done
    rm "$hang"
    until grep -q "answers again; nothing is missing" "$scratch/err"; do sleep 0.05; done
    grep -q "said while it hangs" "$scratch/folder/logs"/*/attempt_0/0/stdout.log || exit 4
  fi'

# --- A signal ends the job as always ---
cat >"$scratch/stop.sh" <<'SH'
touch "$hang"; echo "said by $RANK"
if [ "$RANK" = 0 ]; then
  until grep -q "no answer for" "$scratch/err"; do sleep 0.05; done
  kill -TERM "$PPID"
fi
exec sleep 100
SH
job 143 "${teed[@]}" --no-python sh "$scratch/stop.sh"
says err 'stopped by SIGTERM'
rm -f "$hang"
