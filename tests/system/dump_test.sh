#!/usr/bin/env bash
# `ddprun dump` says what all workers of a running job do, and who has not come where; it disturbs nobody.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$(realpath "$0")")
need_torch
export OMP_NUM_THREADS=1

# dumps WORDS...: $scratch/dump has the answer.
dumps() { "$DDPRUN" dump "$@" >"$scratch/dump" 2>"$scratch/why"; }
shows() { grep -qE -- "$1" "$scratch/dump" || fail "no '$1' in the dump: $(cat "$scratch/dump" "$scratch/why")"; }
# dump_shows JOB PATTERN...: the dump has a line for each pattern.
dump_shows() {
  dumps "$1" || return 1
  local pattern
  for pattern in "${@:2}"; do grep -qE -- "$pattern" "$scratch/dump" || return 1; done
}

# Nobody looks for hangs here, and still a dump finds who has not come.
start --nproc-per-node 3 --rdzv-id dumped --hang-timeout off "$here/programs/hang.py"
until_true 300 "rank 1 to sleep" dump_shows dumped '^\[1\] .*at load_batch \(hang.py:10\)' \
  'ranks 0,2 wait in gloo:all_reduce.* which rank 1 has not reached$' '^\[0,2\] waits in gloo:all_reduce'
[ "$(grep -nm1 '^\[' "$scratch/dump")" = "$(grep -n '^\[1\] ' "$scratch/dump")" ] || fail "rank 1 does not come first"
shows '^    load_batch  .*/hang.py:10$'
shows '^    <module>  .*/hang.py:17$'

cat >"$scratch/check.py" <<'PY'
import json, sys
dump = json.load(open(sys.argv[1]))
assert dump["schema"] == "ddprun.dump/1" and dump["job"] == "dumped" and dump["state"] == "running", dump
assert dump["waits"][0]["missing_ranks"] == [1] and dump["waits"][0]["waiting_ranks"] == [0, 2], dump
first = dump["stacks"][0]
assert first["ranks"] == [1] and first["frames"][0]["function"] == "load_batch", dump
assert first["frames"][0]["line"] == 10, dump
PY
tells_json() { dumps dumped --json && python3 "$scratch/check.py" "$scratch/dump"; }
until_true 60 "the same in JSON" tells_json

# Many ask at the same time. On a busy machine a worker may answer too late for one of them.
many_ask() {
  local i asking=() told=0
  for i in 1 2 3 4 5; do
    "$DDPRUN" dump dumped >"$scratch/dump$i" &
    asking+=($!)
  done
  for i in 1 2 3 4 5; do
    if wait "${asking[i - 1]}" && grep -q '^\[1\] .*load_batch' "$scratch/dump$i"; then told=$((told + 1)); fi
  done
  [ "$told" = 5 ]
}
until_true 60 "five answers at the same time" many_ask

# A stopped worker is reported as stopped.
worker=$(worker_pid 0)
kill -STOP "$worker"
until_true 60 "rank 0 to be stopped" dump_shows dumped '^\[0\] is stopped \(SIGSTOP\)'
kill -CONT "$worker"

"$DDPRUN" status dumped --json >"$scratch/status"
grep -q '"round":1,' "$scratch/status" || fail "there was a restart: $(cat "$scratch/status")"
"$DDPRUN" stop dumped >/dev/null
ends 130
says_not err 'the workers hang'

# A job without a run id has the same name in a dump as elsewhere.
start --nproc-per-node 2 --no-introspection --no-python sleep 1000
until_true 60 "the job to have its name" dump_shows "$pid" "^job sleep-$pid: round 1, 2 workers "
dumps "$pid" --json || fail "no dump in JSON: $(cat "$scratch/why")"
shows '"job": "none"'
"$DDPRUN" stop "$pid" >/dev/null
ends 130

# Without a look into the workers a dump tells what the system sees of them.
start --nproc-per-node 2 --rdzv-id plain --no-introspection --no-python sleep 1000
until_true 60 "both to sleep" dump_shows plain '^\[0-1\] sleeps'
"$DDPRUN" stop plain >/dev/null
ends 130

# A worker with Python is asked only where that is safe, however often: CPython 3.11 crashes when its frames are
# read while a function is called.
cat >"$scratch/calls.py" <<'PY'
def calls(value):
    return value


while True:
    list(map(calls, range(1000)))
PY
start --nproc-per-node 2 --rdzv-id calls "$scratch/calls.py"
until_true 60 "both to be seen" dump_shows calls '^\[0-1\] .*(calls|<module>) \(calls.py:'
for _ in {1..100}; do dumps calls || fail "the job has no dump any more: $(cat "$scratch/why" "$scratch/err")"; done
"$DDPRUN" stop calls >/dev/null
ends 130

if "$DDPRUN" dump plain 2>"$scratch/why"; then fail "a job that has ended is dumped"; fi
grep -qF 'no ' "$scratch/why" || fail "no sentence: $(cat "$scratch/why")"
