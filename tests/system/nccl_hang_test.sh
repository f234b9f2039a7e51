#!/usr/bin/env bash
# When workers hang in NCCL, its RAS service is asked what is wrong: once, and not before. There is no GPU
# here, so the program answers as torch and NCCL would.
. "$(dirname "$0")/lib.sh"

programs=$(cd "$(dirname "$0")/programs" && pwd)
command -v python3 >/dev/null || skip "no python3"
port=$(own_port)
export NCCL_RAS_ADDR=localhost:$port RANK_1_IS_HERE=$scratch/rank_1_is_here

start --standalone --nproc-per-node 2 --hang-timeout 2 --report-file "$scratch/report.json" --no-python \
  python3 -S "$programs/nccl_hang.py"
wait_for_message 'NCCL says of the hang:'
wait_for_message '  The missing rank: 1'
says err "rank 1 has not reached nccl:all_reduce, number 5 of group 0 (default_pg)"
says err "#0-0 (cf26) INCOMPLETE"
says_not err "Job summary"
kill -TERM "$pid"
ends 143
for line in 'CLIENT PROTOCOL 2' 'TIMEOUT 2' 'VERBOSE STATUS'; do says out "asked: $line"; done
[ "$(grep -c 'VERBOSE STATUS' "$scratch/out")" = 1 ] || fail "it was asked again"
grep -qF '"#0-0 (cf26) INCOMPLETE"' "$scratch/report.json" || fail "the report: $(cat "$scratch/report.json")"
nothing_left
