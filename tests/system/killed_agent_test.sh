#!/usr/bin/env bash
# No worker survives ddprun, however it ends; nor does what a worker had put into a session of its own. No temporary
# file does, either.
. "$(dirname "$0")/lib.sh"

worker='trap "" TERM INT HUP; exec 9>"$alive"
  setsid sh -c "trap \"\" TERM INT HUP; echo here >\"\$ready\"; sleep 1000" &
  (setsid sleep 1000 &)
  echo here >"$ready"; sleep 1000'

export XDG_RUNTIME_DIR=$TMPDIR/runtime TORCHELASTIC_ENABLE_FILE_TIMER=1
mkdir -m 700 "$XDG_RUNTIME_DIR"
temporary_files() { find "$TMPDIR" -mindepth 1 ! -path "$XDG_RUNTIME_DIR" ! -name 'tsan.rodata.*'; }
watch_lives
start --nproc-per-node 4 --no-python sh -c "$worker"
wait_ready 8
for kind in /ddprun-see- /runtime/ddprun/ /ddprun_ /watchdog_timer_; do
  temporary_files | grep -F "$kind" >/dev/null || fail "no temporary file like $kind: $(temporary_files)"
done
kill -KILL "$pid"
ends 137
all_dead
are_gone() { [ -z "$(temporary_files)" ]; }
until_true 60 "the temporary files to be gone" are_gone

# A job within a job goes with it.
watch_lives
start --nproc-per-node 2 --no-python "$DDPRUN" --no-python sh -c "$worker"
wait_ready 4
kill -KILL "$pid"
ends 137
all_dead

# Another job of the same user goes on.
export go=$scratch/go
mkfifo "$go"
watch_lives
"$DDPRUN" --no-python sh -c 'exec 9>"$alive"; echo here >"$ready"; read -r word <"$go"; echo "$word"' \
  >"$scratch/other" &
other=$!
wait_ready 1
start --no-python sh -c 'echo here >"$ready"; exec sleep 1000'
wait_ready 1
kill -KILL "$pid"
ends 137
echo "still here" >"$go"
wait "$other" || fail "the other job was killed"
[ "$(cat "$scratch/other")" = "still here" ] || fail "the other job was disturbed"
all_dead
