#!/usr/bin/env bash
# Nodes meet at an IPv6 address, too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3 ipv6
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 3 --rdzv-backend c10d --rdzv-endpoint "[fd77::2]:29400" \
    --rdzv-id job --no-python sh -c 'echo "store at $MASTER_ADDR port $MASTER_PORT"; . "$0"' "$worker"
done
wait_for_world h1 h2 h3
on h1 "$DDPRUN" ls --json >"$scratch/jobs"
grep -q '"coordinator": *"\[fd77::2\]:29400"' "$scratch/jobs" || fail "the coordinator's address: $(cat "$scratch/jobs")"
let_go
for host in h1 h2 h3; do
  node "$host" ends 0
  node "$host" says out "store at fd77::2 port 29400"
done

for rank in 0 1 2; do
  start_on "h$((rank + 1))" "rank$rank" --nnodes 3 --node-rank "$rank" --master-addr fd77::1 \
    --no-python sh "$worker"
done
wait_for_world h1 h2 h3
let_go
for rank in 0 1 2; do node "rank$rank" ends 0; done
