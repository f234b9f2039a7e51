#!/usr/bin/env bash
# A worker that is too late by its own timer is killed, and the verdict names the timer: torch's FileTimer
# (torch.distributed.elastic.timer).
. "$(dirname "$0")/lib.sh"

programs=$(cd "$(dirname "$0")/programs" && pwd)
export TORCHELASTIC_ENABLE_FILE_TIMER=1

# What torch's client would write, without torch. Rank 0 takes its timer back, rank 1 does not, and
# both may write what they like. A process that is no worker has nothing to fear.
sleep 1000 &
stranger=$!
export stranger
cat >"$scratch/worker.sh" <<'SH'
[ -p "$TORCHELASTIC_TIMER_FILE" ] && [ "$(stat -c %a "$TORCHELASTIC_TIMER_FILE")" = 600 ] || exit 9
timer() { # PID SCOPE TIME
  echo "{\"version\": 1, \"pid\": $1, \"scope_id\": \"$2\", \"expiration_time\": $3, \"signal\": 9}"
}
now=$(date +%s)
{
  echo "no timer at all"
  timer "$stranger" other 1
  timer 1 init 1
  # In one write, which a shell's own printf does not do: on a busy machine the timer may be over before a
  # second one.
  [ "$RANK" = 1 ] || env printf '%s\n' "$(timer $$ step $((now + 1)))" "$(timer $$ step -1)"
} >"$TORCHELASTIC_TIMER_FILE"
[ "$RANK" = 1 ] && timer $$ 'load batch' $((now - 1)) >"$TORCHELASTIC_TIMER_FILE"
exec sleep 1000
SH
run 137 --standalone --nproc-per-node 2 --report-file "$scratch/report.json" --no-python \
  bash "$scratch/worker.sh"
says err "rank 1's timer 'load batch' expired after 0 s: process"
says err "gets SIGKILL"
says err "  rank 1's timer 'load batch' expired after 0 s"
[ "$(grep -c "is no timer" "$scratch/err")" = 1 ] || fail "it reports again that a line is no timer"
grep -qF "its timer 'load batch' expired after 0 s" "$scratch/report.json" || fail "the report: $(cat "$scratch/report.json")"
kill -0 "$stranger" || fail "a process that is no worker was killed"
nothing_left

# The user's own place for the pipe.
TORCHELASTIC_TIMER_FILE=$scratch/timers run 0 --standalone --no-python \
  bash -c "[ -p \$TORCHELASTIC_TIMER_FILE ] && [ \$TORCHELASTIC_TIMER_FILE = $scratch/timers ]"
[ ! -e "$scratch/timers" ] || fail "the pipe is still there"

# Nobody has asked for it.
TORCHELASTIC_ENABLE_FILE_TIMER=0 run 0 --standalone --no-python bash -c '[ -z "$TORCHELASTIC_TIMER_FILE" ]'

# A rank's own file there says that it has had its first timer.
ready_folder() {
  READY_FOLDER=$(mktemp -d -p "$scratch")
  export READY_FOLDER
}

need_torch
ready_folder
run 137 --standalone --nproc-per-node 2 --report-file "$scratch/report.json" "$programs/file_timer.py"
for rank in 0 1; do says out "rank $rank has a timer"; done
says_not out "never killed"
says err "  rank 1's timer 'second step' expired after "
grep -qF "its timer 'second step' expired after " "$scratch/report.json" || fail "the report: $(cat "$scratch/report.json")"

# It is a failure like others: a restart follows.
ready_folder
run 0 --standalone --nproc-per-node 2 --max-restarts 1 "$programs/file_timer.py"
says err "rank 1's timer 'second step' expired after "

# torchrun kills the worker, too, and then itself.
ready_folder
code=0
timeout 120 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$programs/file_timer.py" \
  >"$scratch/out" 2>"$scratch/err" || code=$?
[ "$code" = 137 ] || fail "torchrun exits with code $code"
for rank in 0 1; do says out "rank $rank has a timer"; done
says_not out "never killed"
