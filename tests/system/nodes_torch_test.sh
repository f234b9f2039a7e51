#!/usr/bin/env bash
# Unmodified PyTorch programs on several nodes meet in ddprun's store, in one round after the other.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_torch
programs=$(realpath "$(dirname "$0")/programs")

need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --max-restarts 2 --rdzv-backend c10d \
    --rdzv-endpoint h2:29400 --rdzv-id job "$programs/ddp.py" 2
done
for host in h1 h2 h3; do
  node "$host" ends 0
  node "$host" says out "rank $((${host#h} - 1)) of 3 done in attempt 2"
done

for rank in 0 1; do
  start_on "h$((3 - rank))" "rank$rank" --nnodes 2 --node-rank "$rank" --master-addr h3 \
    "$programs/ddp.py" 0
done
for rank in 0 1; do
  node "rank$rank" ends 0
  node "rank$rank" says out "rank $rank of 2 done in attempt 0"
done
