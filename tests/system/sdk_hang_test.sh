#!/usr/bin/env bash
# A hang of C++ workers names the operation, who waits for whom, and at which line the missing one is.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DDPRUN")/hang_worker
[ -x "$worker" ] || skip "built without the worker SDK: there is no hang_worker"
[ -x /usr/bin/eu-stack ] || skip "there is no eu-stack, which reads native stacks"
line=$(grep -n 'HERE$' "$(dirname "$0")/../worker_sdk/hang_worker_load.cpp" | cut -d: -f1)
export OMP_NUM_THREADS=1

# Half a second is all that eu-stack has, which reads large libraries. Beside other tests it may need more.
# A rank that is held up for longer than the timeout of hangs would be the one that is missing.
for _ in 1 2 3 4 5; do
  run 86 --standalone --nproc-per-node 3 --hang-timeout 8 --on-hang stop --shutdown-timeout 2 \
    --report-file "$scratch/report.json" --no-python "$worker"
  ! grep -qF "[1] sleeps (" "$scratch/err" || continue
  break
done
says err "rank 1 has not reached gloo:all_reduce, number 2 of group 0 (default), in which ranks 0,2 have waited"
grep -qE "\[1\] (sleeps|is) at load_batch.* \(hang_worker_load.cpp:$line\)" "$scratch/err" ||
  fail "rank 1 is not found at its line"
says err "[0,2] waits in gloo:all_reduce, number 2 of group 0 (default)"
grep -qF '"operation": "gloo:all_reduce"' "$scratch/report.json" || fail "the report: $(cat "$scratch/report.json")"
grep -qE '"missing_ranks": \[' "$scratch/report.json" || fail "the report: $(cat "$scratch/report.json")"
nothing_left

# What a worker starts has no such variable, and a worker without one opens nothing.
run 86 --standalone --nproc-per-node 2 --hang-timeout 8 --on-hang stop --shutdown-timeout 2 --no-python \
  sh -c "\"$worker\" & wait"
says err "rank 1 has not reached gloo:all_reduce, number 2 of group 0 (default)"
