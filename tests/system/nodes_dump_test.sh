#!/usr/bin/env bash
# `ddprun dump` on any node tells of the workers of all nodes, also when one of the agents does not answer.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_torch
export OMP_NUM_THREADS=1
programs=$(realpath "$(dirname "$0")/programs")

need_hosts 2
starts() { # HOST
  start_on "$1" "$1" --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
    --rdzv-id job --rdzv-conf heartbeat_timeout=60 "$programs/hang.py"
}
# dump_on HOST PATTERN...: asks the agent there, by its process id. The answer has a line for each pattern.
dump_on() {
  on "$1" "$DDPRUN" dump "${agents[$1]}" >"$scratch/dump" 2>"$scratch/why" || return 1
  local pattern
  for pattern in "${@:2}"; do grep -qE -- "$pattern" "$scratch/dump" || return 1; done
}
shows() { grep -qE -- "$1" "$scratch/dump" || fail "no '$1' in the dump: $(cat "$scratch/dump" "$scratch/why")"; }

starts h1
until_true 60 "the job to wait" dump_on h1 'no workers run, the job waits for its nodes: 1 of 2 are there$'
starts h2
for host in h2 h1; do
  until_true 300 "rank 1 to sleep" dump_on "$host" '^\[1\] .*at load_batch \(hang.py:10\)' \
    'ranks 0,2-3 wait in gloo:all_reduce.* which rank 1 has not reached$' '^\[0,2-3\] waits in gloo:all_reduce'
  shows '^job job: round 1, 4 workers on 2 nodes'
done

# An agent that is frozen keeps nobody waiting for long, and its node is named.
kill -STOP "${agents[h2]}"
until_true 60 "h2 to be named, and h1's workers to be described" dump_on h1 \
  '^\[[0-3](-[0-3]|,[0-3])?\] unknown, on h2: the node has not answered in time$' \
  '^\[[0-3](-[0-3])?\] (waits in|.* at load_batch)'
kill -CONT "${agents[h2]}"
until_true 60 "h2 to answer again" dump_on h1 '^\[0,2-3\] waits' '^\[1\] .*at load_batch'
grep -q '"round":1,' <(on h1 "$DDPRUN" status job --json) || fail "there was a restart"

on h1 "$DDPRUN" stop job >/dev/null
for host in h1 h2; do node "$host" ends 130; done
