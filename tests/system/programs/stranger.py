"""Peers that a job has not asked for: stranger.py WHAT HOST PORT.

It prints what came of it, in one line.
"""

import json
import os
import socket
import struct
import sys
import time

VALIDATE = b"\x00" + struct.pack("<I", 0x3C85F7CE)
PING = b"\x0d" + struct.pack("<I", 7)


def field(data):
    return struct.pack("<Q", len(data)) + data


def connect(host, port):
    peer = socket.create_connection((host, port), timeout=60)
    return peer


def answer(peer, say):
    """Returns what comes back, b"" when the peer hangs up."""
    try:
        peer.sendall(say)
        return peer.recv(4096)
    except (ConnectionResetError, BrokenPipeError):
        return b""


def store(host, port):
    with connect(host, port) as peer:
        return "served" if answer(peer, VALIDATE + PING) == struct.pack("<I", 7) else "hung up on"


def close_at_once(host, port):
    """Sets a key, and has closed the connection before anybody can ask whose it was."""
    with connect(host, port) as peer:
        peer.sendall(VALIDATE + b"\x01" + field(b"/forged") + field(b"x"))
    return "gone"


def has_key(host, port):
    with connect(host, port) as peer:
        got = answer(peer, VALIDATE + b"\x05" + struct.pack("<Q", 1) + field(b"/forged"))
        return {b"\x00": "there", b"\x01": "not there"}.get(got, repr(got))


def agent(host, port):
    question = json.dumps({"type": "who_is_there", "run_id": "?"}).encode() + b"\n"
    with connect(host, port) as peer:
        return answer(peer, question).decode().strip() or "hung up on"


def flood(host, port):
    """When the file $flood is there, takes 200 connections, says a byte on each, and keeps them until standard
    input ends."""
    print("here", flush=True)
    while not os.path.exists(os.environ["flood"]):
        time.sleep(0.01)
    peers = [connect(host, port) for _ in range(200)]
    for peer in peers:
        peer.sendall(b"{")
    print("flooded", flush=True)
    sys.stdin.read()
    return "done"


def fill(host, port):
    """Writes large values until it is hung up on, and returns how many were taken."""
    taken = 0
    with connect(host, port) as peer:
        if answer(peer, VALIDATE + PING) == b"":
            return "hung up on"
        value = field(b"x" * (8 << 20))
        while taken < 1000:
            if answer(peer, b"\x01" + field(b"/%d" % taken) + value + PING) == b"":
                return f"hung up on after {taken}"
            taken += 1
    return "taken all"


if __name__ == "__main__":
    what, host, port = sys.argv[1:]
    print({"store": store, "close": close_at_once, "has_key": has_key, "agent": agent,
           "flood": flood, "fill": fill}[what](host, int(port)), flush=True)
