#!/usr/bin/env bash
# With --store local unmodified PyTorch programs on several nodes meet through their agents: the same
# results as at the coordinator's store, one connection for each node, and the rest goes on without
# a lost node.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_torch
programs=$(realpath "$(dirname "$0")/programs")
export go=$scratch/go
mkfifo "$go"

need_hosts 3
meet() { # NNODES STORE
  local host
  for host in h1 h2 h3; do
    start_on "$host" "$host" --nnodes "$1" --store "$2" --rdzv-backend c10d \
      --rdzv-endpoint h2:29400 --rdzv-id job "$programs/meet.py"
  done
}
connections() { on h2 ss -Htn state established "( sport = :29400 )" | wc -l; }

declare -A digests counts
for store in leader local; do
  meet 3 "$store"
  wait_ready 1
  counts[$store]=$(connections)
  echo "go" >"$go"
  for host in h1 h2 h3; do node "$host" ends 0; done
  digests[$store]=$(grep ^digest "$nodes/h1/out") || fail "no digest with --store $store"
done
[ "${digests[local]}" = "${digests[leader]}" ] || fail "results differ: ${digests[*]}"
[ "${counts[local]}" = 3 ] || fail "${counts[local]} connections of 3 agents"
[ "${counts[leader]}" -ge 6 ] || fail "${counts[leader]} connections of 3 agents and 3 workers"
for host in h1 h2 h3; do node "$host" says out "store at 127.0.0.1"; done

# The agent of rank 2 is killed while all others wait in the store.
unset go
export RANK_TO_DIE=2
meet 2:3 local
wait "${agents[h3]}" 2>/dev/null && fail "h3's agent has not been killed"
for host in h1 h2; do
  node "$host" ends 0
  node "$host" says out "of 2 has met the others, store at 127.0.0.1"
done
