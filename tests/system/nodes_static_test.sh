#!/usr/bin/env bash
# With the static rendezvous every node has the rank that --node-rank says, in whatever order they come.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
host_of_rank=(h2 h4 h1 h3)
for rank in 3 1 0 2; do
  host=${host_of_rank[rank]}
  start_on "$host" "$host" --nnodes 4 --node-rank "$rank" --nproc-per-node 2 \
    --master-addr h2 --master-port 29501 --no-python sh -c \
    'echo "$GROUP_RANK/$GROUP_WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"
    . "$0"' "$worker"
done
wait_for_world h1 h1 h2 h2 h3 h3 h4 h4
[ "${worker_hosts[*]}" = "h2 h2 h4 h4 h1 h1 h3 h3" ] || fail "ranks are on ${worker_hosts[*]}"
let_go
for rank in 0 1 2 3; do
  node "${host_of_rank[rank]}" ends 0
  for local_rank in 0 1; do
    node "${host_of_rank[rank]}" says out "$rank/4 $local_rank/2 h2:29501"
  done
done
nothing_left
