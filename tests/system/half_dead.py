"""Carries the connections of an agent to its coordinator, and breaks one end of them.

half_dead.py COORDINATOR_PORT FILE: listens at a free port, and writes that port as a line to FILE. For
each line of its input it resets the agents' ends of all connections. The coordinator's ends stay open,
and nothing is sent over them any more. It writes a line for each connection that is made.
"""

import socket
import struct
import sys
import threading

broken = []  # the coordinator's ends
agents = []  # (the agent's end, the coordinator's end)


def carry(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    if source in broken or target in broken:
        return
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(listener, port):
    while True:
        agent, _ = listener.accept()
        coordinator = socket.create_connection(("127.0.0.1", port))
        agents.append((agent, coordinator))
        print("connected", flush=True)
        for source, target in ((agent, coordinator), (coordinator, agent)):
            threading.Thread(target=carry, args=(source, target), daemon=True).start()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener, int(sys.argv[1])), daemon=True).start()
    with open(sys.argv[2], "w") as listening:
        print(listener.getsockname()[1], file=listening)
    for _ in sys.stdin:
        while agents:
            agent, coordinator = agents.pop()
            broken.append(coordinator)
            # With this, the end of the socket is a reset (socket(7), SO_LINGER).
            agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            agent.shutdown(socket.SHUT_RD)  # wakes the thread that reads
            agent.close()


main()
