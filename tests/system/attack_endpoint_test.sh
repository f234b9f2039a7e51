#!/usr/bin/env bash
# What an endpoint that is no coordinator does to an agent: it says so, waits between attempts, and ends.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 2
[ -n "$(command -v python3)" ] || skip "there is no python3"
agent() { # NAME ENDPOINT SECONDS
  start_on h1 "$1" --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "$2" --rdzv-id job \
    --rdzv-conf "join_timeout=$3,is_host=false" --no-python true
}
never_lost() {
  node "$1" ends 69
  node "$1" says_not err "lost the coordinator"
}

# listen PORT WHAT: somebody else has the port on h2, and counts who comes.
listen() {
  on h2 python3 -c '
import os, socket, sys
port, what = int(sys.argv[1]), sys.argv[2]
server = socket.create_server(("", port))
open(os.environ["ready"], "w").write("listening\n")
kept = []
while True:
    peer, _ = server.accept()
    with open(os.environ["visits"] + what, "a") as visits:
        visits.write("visit\n")
    if what == "http":
        peer.recv(4096)
        peer.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
    if what == "silent":
        kept.append(peer)
    else:
        peer.close()' "$1" "$2" &
  wait_ready 1
}
export visits=$scratch/visits.
seconds=12
listen 29401 http
listen 29402 silent
listen 29403 closes

agent http h2:29401 $seconds
agent silent h2:29402 $seconds
agent closes h2:29403 $seconds
agent nobody h2:29404 $seconds
agent unknown nowhere:29405 $seconds
for name in http silent closes nobody unknown; do never_lost "$name"; done

node http says err "something listens at h2:29401, but it does not speak ddprun's protocol"
node silent says err "something listens at h2:29402, but it does not answer as a coordinator does"
node closes says err "something listens at h2:29403, but it hangs up on nodes that want to join"
node nobody says err "cannot reach the coordinator at h2:29404: Connection refused"
node unknown says err "cannot reach the coordinator at nowhere:29405: there is no address for the name"
for name in http silent closes nobody unknown; do
  node "$name" says err "; giving up in " # said after 2 s
  lines=$(wc -l <"$nodes/$name/err")
  [ "$lines" = 2 ] || fail "$name: $lines lines"
done
for what in http silent closes; do
  count=$(wc -l <"$visits$what")
  if [ "$count" -lt 1 ] || [ "$count" -gt 25 ]; then fail "$what: tried $count times in $seconds s"; fi
done

# Packets that are lost at first delay an agent by no more than one attempt.
cut_off h2
agent lost h2:29404 60
node lost wait_for_message "cannot reach the coordinator at h2:29404: no answer; giving up in"
start_on h2 host --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h2:29404 --rdzv-id job --no-python true
heal h2
node lost ends 0
node host ends 0
