#!/usr/bin/env bash
# --max-restarts as a rate and with progress, --restart-delay and --same-failure-limit: how often, and how
# soon, failing workers are restarted.
. "$(dirname "$0")/lib.sh"

# Without a program that tells its steps nothing is progress.
run 5 --standalone --max-restarts 2@progress --no-python sh -c 'exit 5'
says err "restart 2 (--max-restarts 2@progress): starting 1 worker again"
says err "  restarts: 2 (--max-restarts 2@progress)"
says err "  no further restart: 2 in a row gained no step, as workers tell none (--max-restarts 2@progress)"

# Steps are, and those that are done again are none: attempts 0 to 3 gain one each, the others none.
PYTHON_EXEC=$(command -v python3)
PYTHONPATH=$(cd "$(dirname "$0")/../../worker_sdk/python" && pwd)
export PYTHON_EXEC PYTHONPATH PYTHONDONTWRITEBYTECODE=1
cat >"$scratch/gains.py" <<'PY'
import sys

import ddprun

for step in range(min(ddprun.restart_count(), 3) + 1):
    ddprun.heartbeat(step)
sys.exit(5)
PY
run 5 --standalone --max-restarts 2@progress "$scratch/gains.py"
says err "  restarts: 5 (--max-restarts 2@progress)"
says err "  no further restart: 2 in a row gained no step (--max-restarts 2@progress)"

# A rate holds.
run 5 --standalone --max-restarts 3/1h --no-python sh -c 'exit 5'
says err "  no further restart: there were 3 within 1h (--max-restarts 3/1h)"
says_not err "restart 4"

# The third failure at the same line is the last.
cat >"$scratch/fails.py" <<'PY'
import os, sys
if int(os.environ["TORCHELASTIC_RESTART_COUNT"]) == 1:
    raise OSError("another one")
raise KeyError("the same")
PY
run 1 --standalone --max-restarts 100 --same-failure-limit 3 "$scratch/fails.py"
says err "  restarts: 4 of 100; it failed 3 times at fails.py:4 with the same KeyError"
says err "  no further restart: the same failure 3 times, no step gained (--same-failure-limit 3)"

# Without the option all restarts are used, and the report says that they were in vain.
run 1 --standalone --max-restarts 4 "$scratch/fails.py"
says err "  restarts: 4 of 4; it failed 3 times at fails.py:4 with the same KeyError"

# A message announces a pause, and report.json has the budget.
run 5 --standalone --max-restarts 1/1h --restart-delay 1 --report-file "$scratch/report.json" \
  --no-python sh -c 'exit 5'
says err "restarting in 1 s (--restart-delay 1s)"
grep -q '"restart_budget": "1/1h"' "$scratch/report.json" || fail "the report has no budget"
grep -q '"no_restart": "there were 1 within 1h' "$scratch/report.json" || fail "the report has no reason"

# Without restarts these options do nothing.
run 5 --standalone --same-failure-limit 3 --no-python sh -c 'exit 5'
says err "--same-failure-limit has no effect: there are no restarts (--max-restarts)"

# The error about a wrong budget says what is expected.
run 2 --standalone --max-restarts 3/week --no-python true
says err "--max-restarts '3/week': expected N, N/TIME or N@progress: 3, 3/1h, 3@progress"
nothing_left
