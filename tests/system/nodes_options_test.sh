#!/usr/bin/env bash
# A node whose options do not fit the others' is sent away with a word why; the others do not suffer.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
join() { # HOST NAME ARGUMENTS...
  start_on "$1" "$2" --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h1:29400 "${@:3}" \
    --no-python sh "$worker"
}
join h1 h1 --rdzv-id job --max-restarts 3
has_joined h1
join h2 other --rdzv-id job --max-restarts 2
node other ends 69
node other says err "'--max-restarts=3' at the coordinator, '--max-restarts=2' on h2"
join h2 other --rdzv-id another --max-restarts 3
node other ends 69
node other says err "--rdzv-id=another"
join h2 h2 --rdzv-id job --max-restarts 3
wait_for_world h1 h2
let_go
for host in h1 h2; do node "$host" ends 0; done

# Two nodes cannot have one rank.
for host in h1 h2; do
  start_on "$host" "$host" --nnodes 3 --node-rank "$((${host#h} - 1))" --master-addr h1 \
    --no-python sh "$worker"
  has_joined "$host"
done
start_on h3 other --nnodes 3 --node-rank 1 --master-addr h1 --no-python sh "$worker"
node other ends 69
node other says err "node rank 1 is h2's already"
start_on h3 h3 --nnodes 3 --node-rank 2 --master-addr h1 --no-python sh "$worker"
wait_for_world h1 h2 h3
let_go
for host in h1 h2 h3; do node "$host" ends 0; done
