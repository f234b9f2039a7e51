#!/usr/bin/env bash
# c10d: all nodes get the same command line, and ranks without gaps, however many workers each has.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
workers_of=(0 1 3 2 1)
for host in 3 1 4 2; do
  start_on "h$host" "h$host" --nnodes 4 --nproc-per-node "${workers_of[host]}" --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job --no-python sh -c \
    'echo "rank $RANK is $LOCAL_RANK of $LOCAL_WORLD_SIZE in $GROUP_RANK of $GROUP_WORLD_SIZE, $ROLE_RANK of $ROLE_WORLD_SIZE"
    . "$0"' "$worker"
done
wait_for_world h1 h2 h2 h2 h3 h3 h4
# Nodes that come together are ranked as people count them.
[ "${worker_hosts[*]}" = "h1 h2 h2 h2 h3 h3 h4" ] || fail "ranks are on ${worker_hosts[*]}"
let_go
for host in h1 h2 h3 h4; do node "$host" ends 0; done
node h1 says out "rank 0 is 0 of 1 in 0 of 4, 0 of 7"
node h2 says out "rank 1 is 0 of 3 in 1 of 4, 1 of 7"
node h2 says out "rank 3 is 2 of 3 in 1 of 4, 3 of 7"
node h3 says out "rank 5 is 1 of 2 in 2 of 4, 5 of 7"
node h4 says out "rank 6 is 0 of 1 in 3 of 4, 6 of 7"
# On a busy machine a node may wait for others for seconds, and says so. These workers leave a `sleep` behind.
lines() { grep -cvE '; giving up in [0-9]* s$|: workers have left processes behind, ' "$nodes/$1/err" || true; }
for host in h2 h3 h4; do [ "$(lines "$host")" = 0 ] || fail "a job that went well is silent"; done
node h1 says err "there is no secret (--secret-file): anyone who reaches port 29400"
[ "$(lines h1)" = 1 ] || fail "a job that went well is silent"
nothing_left
