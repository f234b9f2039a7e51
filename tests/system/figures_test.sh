#!/usr/bin/env bash
# The figures of a job are right: when its first step was, how many steps were done again, how far it came, and
# what it cost, also where a signal has ended it.
. "$(dirname "$0")/lib.sh"

here=$(dirname "$0")
PYTHONPATH=$(realpath "$here/../../worker_sdk/python")
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1 PYTHON_EXEC=python3 scratch

# The first attempt does 50 steps, the second one begins again behind step 20. Neither is there for a whole second,
# so nobody may have to look at the right moment.
cat >"$scratch/train.py" <<'PY'
import os, sys, ddprun
first, last = (1, 50) if ddprun.restart_count() == 0 else (21, 60)
for step in range(first, last + 1):
    ddprun.heartbeat(step, steps=60)
sys.exit(3 if last == 50 else 0)
PY
run 0 --nproc-per-node 1 --max-restarts 1 --report-file "$scratch/report.json" "$scratch/train.py"
grep -qE '^ddprun: [0-9.]+ s in all, [0-9.]+ s of start-up, [0-9.]+ s in training, [0-9.]+ s in 1 restart, 30 steps done again \([0-9.]+ s\): goodput [0-9.]+ %$' \
  "$scratch/err" || fail "the last line"
python3 - "$scratch/report.json" <<'PY' || fail "see above"
import json, sys

report = json.load(open(sys.argv[1]))
assert (report["restarts_used"], report["max_restarts"]) == (1, 1), report
(restart,) = report["restarts"]
assert restart["first_step_ms"] >= 0 and "first_step_seen" not in restart, restart
assert restart["steps_again"] == 30 and "again_at_least" not in restart, restart
goodput = report["goodput"]
assert goodput["lost_steps"] == 30 and "lost_at_least" not in goodput, goodput
assert goodput["restarts"] == 1 and goodput["changes"] == 0, goodput
assert 0 < goodput["startup_s"] < goodput["wall_s"], goodput
PY

# A job that was stopped has used its restarts, too.
cat >"$scratch/worker.sh" <<'SH'
[ "$TORCHELASTIC_RESTART_COUNT" != 0 ] || exit 3
echo here >"$ready"
exec sleep 1000
[ "$TORCHELASTIC_RESTART_COUNT" != 0 ] || exit 3
echo here >"$ready"
exec sleep 1000
SH
exec 7<>"${ready:?}"
start --max-restarts 2 --report-file "$scratch/report.json" --no-python sh "$scratch/worker.sh"
wait_ready 1
kill -TERM "$pid"
ends 143
grep -qE '^ddprun: [0-9.]+ s in all, [0-9.]+ s in 1 restart, without the time to a first step, which is not known$' \
  "$scratch/err" || fail "no line says where the time went"
python3 - "$scratch/report.json" <<'PY' || fail "see above"
import json, sys

report = json.load(open(sys.argv[1]))
assert report["outcome"] == "stopped", report
assert (report["restarts_used"], report["max_restarts"]) == (1, 2), report
assert len(report["restarts"]) == 1 and report["goodput"]["restarts"] == 1, report
PY

# One verdict in torchrun's block and in the report, and the block only on request.
cat >"$scratch/crash.py" <<'PY'
import faulthandler, os, signal, time
if os.environ["RANK"] != "1": time.sleep(1000)
faulthandler.enable()
os.kill(os.getpid(), signal.SIGSEGV)
PY
run 139 --nproc-per-node 2 "$scratch/crash.py"
says err "Root Cause (first observed failure):"
says err "  traceback : Signal 11 (SIGSEGV) received by PID"
run 139 --nproc-per-node 2 --no-torchrun-block "$scratch/crash.py"
says_not err "Root Cause"
says err "ddprun: the job failed: rank 1"
nothing_left
