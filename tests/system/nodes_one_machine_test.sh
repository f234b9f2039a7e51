#!/usr/bin/env bash
# Several agents on one machine are several nodes: the first of them hosts the coordinator.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 1
for name in a b c; do
  start_on h1 "$name" --nnodes 3 --nproc-per-node 2 --rdzv-backend c10d \
    --rdzv-endpoint localhost:29400 --rdzv-id job --no-python sh "$worker"
done
wait_for_world h1 h1 h1 h1 h1 h1
let_go
for name in a b c; do node "$name" ends 0; done

# They go on when one of those that host nothing is killed.
for name in a b c; do
  start_on h1 "$name" --nnodes 1:3 --rdzv-backend c10d --rdzv-endpoint localhost:29400 \
    --rdzv-id job --no-python sh "$worker"
  [ "$name" != a ] || has_joined h1
done
wait_for_world h1 h1 h1
kill -KILL "${agents[b]}"
node b ends 137
wait_for_world h1 h1
let_go
for name in a c; do node "$name" ends 0; done
nothing_on h1
