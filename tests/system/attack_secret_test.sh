#!/usr/bin/env bash
# A job of two nodes with a secret: who records all of its traffic learns neither its run id nor its
# host names nor what its workers tell each other; and who comes without the secret, or sends again what
# he has recorded, neither joins nor disturbs it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
[ -n "$(command -v python3)" ] || skip "there is no python3 to record packets"
on h1 sh -c 'echo the-host-called-alpha >/proc/sys/kernel/hostname'
on h2 sh -c 'echo the-host-called-beta >/proc/sys/kernel/hostname'
private=(the-job-called-patients the-host-called-beta the-key-in-the-store the-value-in-the-store)

# Its workers meet in the store, in the protocol of torch's TCPStore, and then wait to be let go.
cat >"$scratch/worker.py" <<'PY'
import os, signal, socket, struct, sys
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))
store = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
def text(words):
    return struct.pack("<Q", len(words)) + words
key, value = b"the-key-in-the-store", b"the-value-in-the-store"
store.sendall(b"\x00" + struct.pack("<I", 0x3C85F7CE))
if os.environ["RANK"] == "0":
    store.sendall(b"\x01" + text(key) + text(value))
store.sendall(b"\x06" + struct.pack("<Q", 1) + text(key))
assert store.recv(1) == b"\x00"
store.sendall(b"\x03" + text(key))
answer = b""
while len(answer) < len(text(value)):
    answer += store.recv(100)
assert answer == text(value)
with open(os.environ["ready"], "w") as ready:
    ready.write(f"{os.uname().nodename} {os.environ['RANK']} {os.environ['WORLD_SIZE']} {os.getpid()}\n")
while True:
    signal.pause()
PY

# Records every packet on every cable.
cat >"$scratch/record.py" <<'PY'
import socket, struct, sys
recorder = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # packet(7), ETH_P_ALL
recorder.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
with open(sys.argv[1], "wb", buffering=0) as record:
    with open(sys.argv[2], "w") as kept:
        kept.write("kept\n")
    while True:
        packet = recorder.recv(1 << 17)
        record.write(struct.pack("<I", len(packet)) + packet)
PY
record() { # FILE
  exec_on hub python3 "$scratch/record.py" "$1" "$scratch/kept" </dev/null &
  recorder=$!
  read -r -t 60 _ <>"$scratch/kept" || fail "packets cannot be recorded"
}
recorded() { # FILE: waits until all that was sent by now is in it
  until_true 60 "the last packet" mark_seen "$1"
  kill -KILL "$recorder"
  wait "$recorder" 2>/dev/null || true
}
mark_seen() {
  on h1 python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"the-last-packet", ("10.77.0.2", 9))'
  grep -qaF the-last-packet "$1"
}

begin() { # the job, each node with the OPTIONS of arrays that have its name
  local host
  for host in h1 h2; do
    local -n options=options_$host
    start_on "$host" "$host" --nnodes 1:2 --max-restarts 0 --store local --rdzv-backend c10d \
      --rdzv-endpoint 10.77.0.1:29400 --rdzv-id the-job-called-patients \
      --rdzv-conf last_call_timeout=60 "${options[@]}" --no-python python3 "$scratch/worker.py"
  done
  wait_for_world the-host-called-alpha the-host-called-beta
}
end() {
  let_go
  for host in h1 h2; do node "$host" ends 0; done
}

# Without a secret all of it can be read, and ddprun says so.
# shellcheck disable=SC2034
options_h1=() options_h2=()
record "$scratch/open"
begin
end
recorded "$scratch/open"
for word in "${private[@]}"; do
  grep -qaF "$word" "$scratch/open" || fail "'$word' should have been on the wire in plain"
done
node h1 says err "there is no secret (--secret-file): anyone who reaches port 29400"
node h2 says_not err "there is no secret"

# With one, nothing is. One node has it from a file, the other one from the variable.
"$DDPRUN" secret >"$scratch/secret"
"$DDPRUN" secret >"$scratch/another"
secret=$(cat "$scratch/secret")
# shellcheck disable=SC2034
options_h1=(--secret-file "$scratch/secret")
record "$scratch/closed"
DDPRUN_SECRET=$secret begin

# Nobody but ddprun has it.
cat >"$scratch/search.py" <<'PY'
import re, sys
text = sys.argv[1].encode()
needles = [text, text[:32], bytes.fromhex(sys.argv[1])]
for pid in sys.argv[2:]:
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            begin, end, flags, name = re.match(r"(\w+)-(\w+) (\S+) \S+ \S+ \S+\s*(.*)", line).groups()
            if flags[0] != "r" or name.startswith("[v"):  # the kernel's own pages cannot be read so
                continue
            memory.seek(int(begin, 16))
            content = memory.read(int(end, 16) - int(begin, 16))
            if any(needle in content for needle in needles):
                sys.exit(f"process {pid} has the secret in its memory: {line}")
PY
python3 "$scratch/search.py" "$secret" "${worker_pids[@]}" || fail "a worker has the secret"
for host in h1 h2; do
  for process in $(processes_on "$host"); do
    for file in environ cmdline; do
      if grep -qaF "$secret" "/proc/$process/$file"; then
        fail "the secret is in /proc/$process/$file: $(tr '\0' ' ' <"/proc/$process/cmdline")"
      fi
    done
  done
  node "$host" says_not err "$secret"
done

# Nobody without it joins.
try() { # NAME OPTIONS...
  start_on h3 "$1" --nnodes 1:2 --store local --rdzv-backend c10d --rdzv-endpoint 10.77.0.1:29400 \
    --rdzv-conf join_timeout=100 "${@:2}" --no-python true
}
try without --rdzv-id guessed # in plain: the job's own name would be recorded from here
try another --rdzv-id the-job-called-patients --secret-file "$scratch/another"
node without ends 69
node without says err "this job has a secret"
node another ends 69
node another says err "does not take this node's secret"
node h1 wait_for_message "turned away 10.77.0.3"

# What was recorded opens nothing, and neither does anything else that a stranger may say.
cat >"$scratch/strangers.py" <<'PY'
import os, socket, struct, sys
flows = {}
with open(sys.argv[1], "rb") as record:
    while size := record.read(4):
        packet = record.read(struct.unpack("<I", size)[0])
        if packet[12:14] != b"\x08\x00" or packet[23] != 6:
            continue
        ip = packet[14:]
        ip = ip[:struct.unpack(">H", ip[2:4])[0]]
        tcp = ip[(ip[0] & 15) * 4:]
        data = tcp[(tcp[12] >> 4) * 4:]
        if struct.unpack(">H", tcp[2:4])[0] == 29400 and data:
            place = struct.unpack(">I", tcp[4:8])[0]
            flows.setdefault((ip[12:16], tcp[:2]), {})[place] = data
flows = [b"".join(flow[place] for place in sorted(flow)) for flow in flows.values()]
flows = [flow for flow in flows if flow[:2] == b"\x16\x03"]
assert flows, "no handshake was recorded"
hello = flows[0][:5 + struct.unpack(">H", flows[0][3:5])[0]]
set_key = b"\x00" + struct.pack("<I", 0x3C85F7CE) + b"\x01" + struct.pack("<Q", 1) + b"k" + struct.pack("<Q", 1) + b"v"
speeches = flows + [hello[:60], hello[:60] + os.urandom(len(hello) - 60), hello + b"{}\n", b"{", b"{}\n", set_key,
                    b"\x16", b"\x16\x03\x01\xff\xff" + os.urandom(65535), os.urandom(5000), b"GET / HTTP/1.0\r\n\r\n"]
open_ones = []
for speech in speeches:
    peer = socket.create_connection(("10.77.0.1", 29400))
    peer.settimeout(60)
    try:
        peer.sendall(speech)
    except OSError:
        pass  # it was hung up on while it spoke
    open_ones.append(peer)
# The agent's whole stream, sent again, is answered by a hello of the coordinator's, and ends there.
answer = b""
try:
    while part := open_ones[0].recv(65536):
        answer += part
except ConnectionError:
    pass
assert answer[:1] in (b"\x16", b""), answer
PY
on h3 python3 "$scratch/strangers.py" "$scratch/closed" || fail "a stranger was answered"
are_alive "${worker_pids[@]}" || fail "a stranger has disturbed the job"
end
recorded "$scratch/closed"
for word in "${private[@]}" "$secret"; do
  if grep -qaF "$word" "$scratch/closed"; then fail "'$word' was on the wire"; fi
done
nothing_left
