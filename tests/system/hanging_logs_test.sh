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

# What a worker does to let the folder hang. All workers run then: a file system that writes back when a file is closed
# may hold the start of a worker, whose process inherits the log files and closes them.
cat >"$scratch/hang.sh" <<'SH'
: >"$scratch/runs-$RANK"
until [ -e "$scratch/runs-$((WORLD_SIZE - 1))" ] && [ -e "$scratch/runs-0" ]; do sleep 0.01; done
touch "$hang"
SH

# job CODE ARGUMENTS...: a job of which all runs while its folder of logs may hang. Held, it would be for ever.
job() {
  local expected=$1 code=0
  shift
  rm -f "$hang" "$scratch"/runs-*
  timeout -s KILL 180 python3 "$programs/hanging_files.py" "$folder" "$hang" "$DDPRUN" "$@" \
    >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: ddprun $*"
}
teed=(--nproc-per-node 2 --log-dir "$folder/logs" -t 3)

# --- It hangs until the end: all else is as always ---
job 0 "${teed[@]}" --no-python sh -c '. "$scratch/hang.sh"; echo "said by $RANK"'
says out '[default0]:said by 0'
says out '[default1]:said by 1'
says err "no answer for 2 s from '$folder/logs/"
says err 'is its disk or its server there?'
says err 'are missing in log files'
job 3 "${teed[@]}" --no-python sh -c '. "$scratch/hang.sh"; echo "said by $RANK"; exit 3'
says err 'exited with code 3'

# --- A worker that writes more than finds room is not held, and a restart comes ---
job 0 "${teed[@]}" --max-restarts 1 --no-python sh -c '
  [ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0
  . "$scratch/hang.sh"
  yes "$(printf %01000d 0)" | head -c 90000000 >&2
  exit 3'
grep -qE '[0-9]{8} bytes of output are missing in log files' "$scratch/err" || fail "what is missing is not counted"

# --- A worker that writes to its file itself, and the event log ---
job 3 --log-dir "$folder/logs" -r 2 --no-python sh -c '. "$scratch/hang.sh"; exit 3'
job 0 --event-log "$folder/events" --no-python sh -c '. "$scratch/hang.sh"; echo said'
says err "from '$folder/events'"

# --- It answers again: nothing is missing ---
job 0 "${teed[@]}" --report-file "$scratch/report" --no-python sh -c '
  if [ "$RANK" = 1 ]; then : >"$scratch/runs-1"; else
    . "$scratch/hang.sh"; echo "said while it hangs"
    until grep -q "no answer for" "$scratch/err"; do sleep 0.05; done
    rm "$hang"
    until grep -q "answers again; nothing is missing" "$scratch/err"; do sleep 0.05; done
    grep -q "said while it hangs" "$scratch/folder/logs"/*/attempt_0/0/stdout.log || exit 4
  fi'

# --- A signal ends the job as always ---
cat >"$scratch/stop.sh" <<'SH'
. "$scratch/hang.sh"; echo "said by $RANK"
if [ "$RANK" = 0 ]; then
  until grep -q "no answer for" "$scratch/err"; do sleep 0.05; done
  kill -TERM "$PPID"
fi
exec sleep 100
SH
job 143 "${teed[@]}" --no-python sh "$scratch/stop.sh"
says err 'stopped by SIGTERM'
rm -f "$hang"
