#!/usr/bin/env bash
# --store local at a `ddprun server`, which needs no port for the store then, with restarts and warm
# workers; and a node that says otherwise is sent away.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_torch
programs=$(realpath "$(dirname "$0")/programs")

need_hosts 3
start_on h3 server server --host h3 --port 29400
node server wait_for_line listening
join() { # HOST NAME STORE
  start_on "$1" "$2" --nnodes 2 --nproc-per-node 2 --max-restarts 2 --store "$3" --warm \
    --rdzv-backend c10d --rdzv-endpoint h3:29400 --rdzv-id job "$programs/ddp.py" 2
}
join h1 h1 local
has_joined h1
join h2 other leader
node other ends 69
node other says err "'--store=local' at the coordinator, '--store=leader' on h2"
[ "$(on h3 ss -Htnl | wc -l)" = 1 ] || fail "the server listens at more than one port"
join h2 h2 local
for host in h1 h2; do node "$host" ends 0; done
node h1 says out "rank 0 of 4 done in attempt 2"
node h2 says out "rank 3 of 4 done in attempt 2"
