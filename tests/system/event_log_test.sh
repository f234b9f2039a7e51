#!/usr/bin/env bash
# --event-log writes what happens as lines of JSON, and `ddprun trace` draws it. After a restart ddprun
# says what it cost, and at the end where the time went.
. "$(dirname "$0")/lib.sh"

export scratch
run 0 --nproc-per-node 2 --max-restarts 1 --event-log "$scratch/events-\${hostname}.jsonl" --no-python \
  sh -c 'if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then [ $RANK = 1 ] || exec sleep 60; exit 3; fi'
grep -qE '^ddprun: round 1 → 2 \(rank 1 exited with code 3\): noticed [0-9.]+ m?s, stopped [0-9.]+ m?s, sealed [0-9.]+ m?s, started [0-9.]+ m?s$' \
  "$scratch/err" || fail "no line says what the restart cost"
grep -qE '^ddprun: [0-9.]+ s in all, [0-9.]+ s in 1 restart, without the time to a first step, which is not known$' \
  "$scratch/err" || fail "no line says where the time went"

events=$scratch/events-$(uname -n).jsonl
"$DDPRUN" trace "$events" -o "$scratch/trace.json" || fail "ddprun trace"
python3 - "$events" "$scratch/trace.json" <<'PY' || fail "see above"
import json, sys

events = [json.loads(line) for line in open(sys.argv[1])]
kinds = [event["kind"] for event in events]

def only(kind):
    return [event for event in events if event["kind"] == kind]

assert events[0]["schema"] == "ddprun.events/1", events[0]
assert [event["round"] for event in only("round_started")] == [1, 2], kinds
assert sorted((e["round"], e["rank"]) for e in only("worker_started")) == [(1, 0), (1, 1), (2, 0), (2, 1)], kinds
ended = {(e["round"], e["rank"]): e for e in only("worker_ended")}
assert ended[1, 1]["exit_code"] == 3 and ended[1, 0]["signal"] == "SIGTERM", ended
assert ended[2, 0]["exit_code"] == ended[2, 1]["exit_code"] == 0, ended
assert only("round_stopping")[0]["reason"] == "rank 1 exited with code 3", kinds
assert only("restart")[0]["round"] == 2 and only("restart")[0]["started_ms"] >= 0, kinds
assert "goodput_percent" not in only("times")[0], "nobody tells steps, so nobody knows what was lost"
assert only("job_ended")[0]["outcome"] == "finished" and kinds[-1] == "agent_ended", kinds
times = [event["time"] for event in events]
assert times == sorted(times), times

trace = json.load(open(sys.argv[2]))["traceEvents"]
names = [event["name"] for event in trace]
for name in ("round 1", "stopping", "round 2", "exited with code 3", "killed by SIGTERM"):
    assert name in names, names
PY

# --- An error says what cannot be done ---
run 71 --event-log "$scratch/absent/events" --no-python true
says err "--event-log: cannot open the log file '$scratch/absent/events'"
run 1 trace "$scratch/absent"
says err "cannot read '$scratch/absent'"
echo nonsense >"$scratch/nonsense"
run 1 trace "$scratch/nonsense"
says err "has no events"
run 2 trace
run 0 trace --help
says out "https://ui.perfetto.dev"
