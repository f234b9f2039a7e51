#!/usr/bin/env bash
# The network falls into two parts. Only the one with more than half of the nodes goes on, whichever node
# coordinated the job before; when the network is whole again, all of them do.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 5
for host in h1 h2 h3 h4 h5; do
  start_on "$host" "$host" --nnodes 1:5 --max-restarts 0 --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf keep_alive_interval=0.4,keep_alive_max_attempt=5 --no-python sh "$worker"
done
wait_for_world h1 h2 h3 h4 h5
old=("$(pid_on h1)" "$(pid_on h2)")
on hub ip link add island up type bridge
for host in h1 h2; do on hub ip link set "$host" master island; done
wait_for_world h3 h4 h5
for pid in "${old[@]}"; do
  [ ! -e "/proc/$pid" ] || fail "a worker of the smaller part is alive beside the new world"
done
for host in h1 h2; do on hub ip link set "$host" master bridge; done
wait_for_world h1 h2 h3 h4 h5
let_go
for host in h1 h2 h3 h4 h5; do node "$host" ends 0; done
