#!/usr/bin/env bash
# A C++ worker that fails while the others wait for it in a collective ends the job at once, and is the one
# that is named: whatever it dies of, whichever its rank, with and without an operation pending.
#
#     ROUNDS=50 bash tests/system/sdk_exception_test.sh build/ddprun
#
# runs every combination that often, and counts: how many reports were right, and how long after the failure
# the job had ended.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DDPRUN")/failing_worker
[ -x "$worker" ] || skip "built without the worker SDK: there is no failing_worker"
export OMP_NUM_THREADS=1
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0 # or it would end such a worker itself, with code 1
ulimit -c 0
rounds=${ROUNDS:-0}

# fails HOW RANK CODE [pending]: the job ends with CODE, and its report names the rank and its words.
fails() {
  local how=$1 rank=$2 code=$3 begin end took
  rm -f "$scratch/moment" "$scratch/report.json"
  run "$code" --standalone --nproc-per-node 4 --shutdown-timeout 500 --report-file "$scratch/report.json" \
    --no-python "$worker" "$how" "$rank" "$scratch/moment" ${4:+"$4"}
  end=$(date +%s%N)
  begin=$(cat "$scratch/moment")
  took=$(((end - begin) / 1000000))
  HOW=$how RANK=$rank python3 - "$scratch/report.json" <<'CHECK' || fail "$* is reported as: $(cat "$scratch/report.json")"
import json, os, sys
report = json.load(open(sys.argv[1]))
cause, how = report["cause"], os.environ["HOW"]
assert cause["ranks"] == [int(os.environ["RANK"])], cause
assert not report.get("also"), report["also"]
if how == "run_worker" or how == "uncaught":
    assert (cause["exception"]["type"], cause["exception"]["message"]) == ("std::runtime_error", "no such batch"), cause
if how == "caught":
    assert "failing_worker: no such batch" in cause["sentence"], cause
if how == "segv":
    assert cause["signal"] == "SIGSEGV", cause
if how == "exit":
    assert cause["exit_code"] == 3, cause
CHECK
  # Without haste, the others would wait for half an hour, or be killed after 500 s.
  [ "$took" -lt 400000 ] || fail "$*: the job ended $took ms after the failure"
  printf '%s, rank %s%s\t%s\n' "$how" "$rank" "${4:+, $4}" "$took" >>"$scratch/times"
}

if [ "$rounds" = 0 ]; then
  fails run_worker 1 1
  fails run_worker 0 1 pending
  says err "failing_worker: rank 0 of 4: std::runtime_error: no such batch"
  fails uncaught 1 134 pending
  fails caught 0 1
  fails caught 1 1 pending
  fails segv 0 139 pending
  fails exit 1 3
  exit 0
fi

for ((i = 0; i < rounds; i++)); do
  for rank in 0 1; do
    for pending in "" pending; do
      for way in "run_worker 1" "uncaught 134" "caught 1" "segv 139" "exit 3"; do
        # A wrong one ends its subshell, says what it saw, and is counted.
        (fails "${way% *}" $rank "${way#* }" $pending) ||
          printf '%s, rank %s%s\twrong\n' "${way% *}" $rank "${pending:+, $pending}" >>"$scratch/times"
      done
    done
  done
done
python3 - "$scratch/times" <<'COUNT'
import statistics, sys
seen = {}
for line in open(sys.argv[1]):
    what, took = line.rstrip("\n").split("\t")
    seen.setdefault(what, []).append(took)
everything = [took for all_of_it in seen.values() for took in all_of_it]
for what, all_of_it in [*sorted(seen.items()), ("all", everything)]:
    times = [int(took) for took in all_of_it if took != "wrong"]
    figures = f"median {statistics.median(times):.0f} ms, worst {max(times)} ms" if times else ""
    print(f"{what:<28} {len(times)} of {len(all_of_it)} right  {figures}")
sys.exit("wrong" in everything)
COUNT
