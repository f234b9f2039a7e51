"""A worker without PyTorch: meets all others in the store, as torch's client does, and tells so.

Until attempt CRASHES (argument 1), the last rank exits with 28 after that."""

import os
import socket
import struct
import sys

SET, GET, WAIT = 1, 3, 6
VALIDATE = bytes([0]) + struct.pack("<I", 0x3C85F7CE)


def text(word):
    return struct.pack("<Q", len(word)) + word.encode()


def receive(store, count):
    got = b""
    while len(got) < count:
        more = store.recv(count - len(got))
        assert more, "the store has hung up"
        got += more
    return got


rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
with socket.create_connection(where, timeout=60) as store:
    keys = [f"rank {number} of attempt {attempt}" for number in range(size)]
    store.sendall(VALIDATE + bytes([SET]) + text(keys[rank]) + text(os.uname().nodename))
    store.sendall(bytes([WAIT]) + struct.pack("<Q", size) + b"".join(map(text, keys)))
    receive(store, 1)
    hosts = []
    for key in keys:
        store.sendall(bytes([GET]) + text(key))
        length, = struct.unpack("<Q", receive(store, 8))
        hosts.append(receive(store, length).decode())
print(f"attempt {attempt}, rank {rank}: ranks are on {' '.join(hosts)}\n", end="", flush=True)
if rank == size - 1 and attempt < int(sys.argv[1]):
    sys.exit(28)
