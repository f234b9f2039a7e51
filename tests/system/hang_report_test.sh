#!/usr/bin/env bash
# The report for programs is there at the moment of a hang, not only at the end of the job.
. "$(dirname "$0")/lib.sh"

need_torch
export OMP_NUM_THREADS=1
cat >"$scratch/steps.py" <<'PY'
"""Steps together until the file of the last argument is there. Each rank tells its first one by a file."""

import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
ended = torch.zeros(1)
while not ended.item():
    ended += os.path.exists(sys.argv[1])
    dist.all_reduce(ended)
    open(f"{sys.argv[1]}.rank_{dist.get_rank()}", "w").close()
    if dist.get_rank() == 1:
        time.sleep(0.3)
sys.stdout.flush()
os._exit(0)  # Python 3.11 sometimes aborts while it shuts down with Gloo's threads
PY

# report_says FILE TEST: a test in Python of the report, which is called r.
report_says() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert eval(sys.argv[2]), r' "$@"; }

start --nproc-per-node 3 --rdzv-id hangs --hang-timeout 3 --report-file "$scratch/why.json" \
  --log-dir "$scratch/logs" "$scratch/steps.py" "$scratch/let_go"
all_have_met() { [ "$(compgen -G "$scratch/let_go.rank_*" | wc -l)" = 3 ]; }
until_true 300 "the training to run" all_have_met
sleeper=$(worker_pid 1)
tells_hang() {
  report_says "$1" '(r["outcome"], r["hang"]["missing_ranks"]) == ("running", [1])' &&
    report_says "$1" '"exit_code" not in r and sorted(r["hang"]["waiting_ranks"]) == [0, 2]' &&
    report_says "$1" '"is stopped (SIGSTOP)" in [s.get("doing") for s in r["stacks"]]'
}
is_over() { report_says "$1" 'r["outcome"] == "running" and "hang" not in r'; }
kill -STOP "$sleeper"
until_true 100 "the report of the hang" tells_hang "$scratch/why.json"
in_logs() { compgen -G "$scratch/logs/*/report.json"; }
until_true 60 "the report beside the logs" in_logs
until_true 60 "the same report there" tells_hang "$(in_logs)"

kill -CONT "$sleeper"
until_true 60 "the report that they go on" is_over "$scratch/why.json"
touch "$scratch/let_go"
ends 0
report_says "$scratch/why.json" '(r["outcome"], r["exit_code"]) == ("finished", 0)'
[ -z "$(find "$scratch" -name '*.tmp')" ] || fail "files are left: $(find "$scratch" -name '*.tmp')"

# Nothing is written of a job without a hang before its end.
start --nproc-per-node 1 --report-file "$scratch/later.json" --no-python sh -c 'echo ready; exec sleep 1000'
until_true 60 "the worker to run" grep -q ready "$scratch/out"
[ ! -e "$scratch/later.json" ] || fail "there is a report already"
kill -TERM "$pid"
ends 143
report_says "$scratch/later.json" 'r["outcome"] == "stopped"'
