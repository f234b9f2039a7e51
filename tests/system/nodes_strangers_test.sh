#!/usr/bin/env bash
# Strangers who come to the coordinator's port, whatever they send, disturb no job.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
for host in h1 h2; do
  start_on "$host" "$host" --nnodes 1:2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
    --rdzv-conf last_call_timeout=60 --no-python sh "$worker"
done
wait_for_world h1 h2
cat >"$scratch/stranger.py" <<'PY'
import os, socket
def stranger(say):
    peer = socket.create_connection(("h1", 29400))
    try:
        peer.sendall(say)
    except OSError:
        pass  # it was hung up on while it spoke
    return peer
join = b'{"type":"join","protocol":2,"run_id":"job","node":"x","host":"x","workers":1,"role":"","node_rank":-1,"options":""}'
speeches = [b"", b"\n", b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00" + os.urandom(512), b"{",
            b"{}\n", b"{" + b"a" * 1_000_000, b'{"type":"beat"}\n', join + b"\n", join[:50],
            join.replace(b'"protocol":2', b'"protocol":99') + b"\n",
            b"\x00", b"\x00" + b"\xff" * 64, b"\x00" + os.urandom(1_000_000), os.urandom(1_000_000)]
open_ones = [stranger(speech) for speech in speeches]
for speech in speeches:
    stranger(speech).close()
open_ones += [stranger(b"") for _ in range(200)]
open(os.environ["ready"], "w").write("said\n")
open(os.environ["go"]).read()
PY
export go=$scratch/go
mkfifo "$go"
for host in h3 h2; do
  on "$host" python3 "$scratch/stranger.py" &
  wait_ready 1
done
kill -KILL "${agents[h2]}" # the job is no less able to go on
wait_for_world h1
start_on h2 again --nnodes 1:2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
  --rdzv-conf last_call_timeout=60 --no-python sh "$worker"
wait_for_world h1 h2
let_go
node h1 ends 0
node again ends 0
node h1 says_not err "node x"
