#!/usr/bin/env bash
# The page sees within a second that a node was killed, and any node's agent answers for the whole job.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

here=$(dirname "$(realpath "$0")")
need_hosts 3
for host in h1 h2 h3; do
  start_on "$host" "$host" --nnodes 2:3 --max-restarts 3 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
    --rdzv-id job --status-addr 0.0.0.0:8080 --no-python sh "$worker"
done
wait_for_world h1 h2 h3
node h1 says err "the status page is at http://h1:8080/"
node h1 says err "there is no secret: anyone who reaches the status page can read it"
# What workers say themselves may be here before what agents tell of them.
all_run() {
  local host
  on h2 "$DDPRUN" status "${agents[h2]}" >"$scratch/answer" 2>&1 || return 1
  for host in h1 h2 h3; do grep -qE "^ +$host +running" "$scratch/answer" || return 1; done
}
until_true 60 "h2 to tell that all nodes run" all_run
page_tells() { grep -q "job job: running" < <(on h2 "$DDPRUN" status http://h1:8080/); }
until_true 60 "the page to answer from afar" page_tells

on h2 python3 "$here/nodes_status_page.py" http://10.77.0.1:8080/events "${agents[h3]}" >"$scratch/answer" 2>&1 ||
  fail "$(cat "$scratch/answer")"
cat "$scratch/answer"
node h3 ends 137
wait_for_world h1 h2
let_go
node h1 ends 0
node h2 ends 0
