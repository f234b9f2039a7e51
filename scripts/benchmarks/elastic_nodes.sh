#!/usr/bin/env bash
# elastic_nodes.sh DDPRUN PROGRAM HOST HOW: runs an elastic loop on three hosts, of which h1 coordinates, and
# once all have made a step HOST is `killed` or `frozen`. It prints when, and the first steps of all worlds.
program=$2
host=$3
how=$4
. "$(dirname "$0")/../../tests/system/lib.sh"
. "$(dirname "$0")/../../tests/system/hosts.sh"

need_hosts 3
for each in h1 h2 h3; do
  start_on "$each" "$each" --nnodes 2:3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    "$program" 0 wait
done
for each in h1 h2 h3; do node "$each" wait_for_line "^step 0 3 "; done
sleep 2 # of training
mapfile -t processes < <(processes_on "$host")
[ "$how" = frozen ] || processes=("${agents[$host]}")
python3 -c 'import os, signal, sys, time
print(f"{sys.argv[1]} {time.clock_gettime(time.CLOCK_MONOTONIC):.6f}", flush=True)
for process in sys.argv[2:]:
    os.kill(int(process), signal.SIGSTOP if sys.argv[1] == "frozen" else signal.SIGKILL)' "$how" "${processes[@]}"
for each in h1 h2 h3; do
  [ "$each" = "$host" ] || node "$each" wait_for_line "^step 0 2 "
done
cat "$nodes"/*/out
