#!/usr/bin/env bash
# What a worker leaves running is gone before the next attempt starts, and when the job has ended.
. "$(dirname "$0")/lib.sh"

cat >"$scratch/worker.sh" <<'SH'
if [ "$TORCHELASTIC_RESTART_COUNT" = 1 ]; then
  cat "$scratch"/pids.* | while read -r pid; do
    [ ! -e "/proc/$pid" ] || echo "process $pid of the attempt before is alive"
  done
  exit 0
fi
exec 9>"$alive"
sleep 1000 &
echo $! >"$scratch/pids.$RANK"
setsid sh -c 'echo $$ >>"$scratch/pids.$RANK"; trap "" TERM HUP; echo here >"$ready"; sleep 1000' &
[ "$RANK" = 0 ] || exit 0
read -r word <"$go"
exit 1
SH
export scratch go=$scratch/go
mkfifo "$go"
watch_lives
start --standalone --nproc-per-node 2 --max-restarts 1 --no-python sh "$scratch/worker.sh"
wait_ready 2
echo go >"$go"
ends 0
all_dead
says_not out "is alive"
[ "$(cat "$scratch"/pids.* | wc -l)" = 4 ] || fail "the processes to be killed were not there"

# The same holds for a job that ends well.
watch_lives
start --standalone --nproc-per-node 2 --no-python \
  sh -c 'exec 9>"$alive"; setsid sleep 1000 & sleep 1000 & exit 0'
ends 0
all_dead
nothing_left
