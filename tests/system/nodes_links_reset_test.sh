#!/usr/bin/env bash
# Every connection of the job's agents is reset, again and again. Nobody is dead, so the workers go on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
[ -n "$(command -v ss)" ] || skip "there is no ss (Debian: iproute2)"
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 2:3 --max-restarts 0 --rdzv-backend c10d \
    --rdzv-endpoint h1:29400 --rdzv-id job --no-python sh "$worker"
done
wait_for_world h1 h2 h3
old=("$(pid_on h1)" "$(pid_on h2)" "$(pid_on h3)")
connections() { on "$1" ss -Hnto state established dport = :29400 | awk '{print $3, $4}'; }
is_another() { [ -n "$(connections "$1")" ] && [ "$(connections "$1")" != "$2" ]; }
for ((i = 0; i < 20; i++)); do
  for host in h1 h2 h3; do
    has_joined "$host"
    before=$(connections "$host")
    on "$host" ss -Kn state established dport = :29400 >"$scratch/killed" || skip "ss cannot reset connections here"
    [ "$(wc -l <"$scratch/killed")" -gt 1 ] || skip "this kernel lets nobody reset connections"
    until_true 30 "$host to connect again" is_another "$host" "$before"
  done
done
for pid in "${old[@]}"; do [ -e "/proc/$pid" ] || fail "a worker was stopped"; done
let_go
for host in h1 h2 h3; do
  node "$host" ends 0
  node "$host" says_not err "node .* lost"
done
