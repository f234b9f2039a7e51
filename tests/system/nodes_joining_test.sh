#!/usr/bin/env bash
# A node that comes later takes part from the next round on, which begins at once.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 5
join() {
  start_on "$1" "$1" --nnodes 1:8 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf last_call_timeout=1 --no-python sh -c \
    'echo "attempt $TORCHELASTIC_RESTART_COUNT of $WORLD_SIZE"; . "$0"' "$worker"
}
for host in h1 h2 h3 h4; do join "$host"; done
wait_for_world h1 h2 h3 h4
before=("${worker_hosts[@]}")
join h5
wait_for_world h1 h2 h3 h4 h5
[ "${worker_hosts[*]}" = "${before[*]} h5" ] || fail "ranks were ${before[*]}, are ${worker_hosts[*]}"
let_go
for host in h1 h2 h3 h4 h5; do
  node "$host" ends 0
  node "$host" says out "attempt 0 of 5"
done
node h1 says err "node h5 joined"
