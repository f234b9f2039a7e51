#!/usr/bin/env bash
# warm_nodes.sh DDPRUN PROGRAM OPTIONS...: runs a job of three hosts, kills one node once all have made a
# step, and prints when, and the steps that were made.
program=$2
options=("${@:3}")
. "$(dirname "$0")/../../tests/system/lib.sh"
. "$(dirname "$0")/../../tests/system/hosts.sh"

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" "${options[@]}" --nnodes 2:3 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
    --rdzv-id job "$program" 0 wait
done
for host in h1 h2 h3; do node "$host" wait_for_line "^step 0 3 "; done
python3 -c 'import os, sys, time
print(f"killed {time.clock_gettime(time.CLOCK_MONOTONIC):.6f}", flush=True)
os.kill(int(sys.argv[1]), 9)' "${agents[h3]}"
for host in h1 h2; do node "$host" wait_for_line "^step 0 2 "; done
cat "$nodes"/*/out
