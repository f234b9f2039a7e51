"""Copies packets between two network interfaces, and takes its time.

slow_link.py INTERFACE INTERFACE MILLISECONDS FILE: writes a line to FILE when it has begun. It stands
in for tc's netem, which many kernels are built without.
"""

import collections
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, ETH_P_ALL = 263, 15, 3


def open_port(interface):
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    # With this header, packets keep their marks of checksums and segments still to be made.
    port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    port.setblocking(False)
    port.bind((interface, ETH_P_ALL))
    return port


def receive(port):
    """One packet that came in, None for one that went out; raises BlockingIOError when none is left."""
    packet, sender = port.recvfrom(1 << 17)
    return None if sender[2] == socket.PACKET_OUTGOING else packet


def main():
    first, second = open_port(sys.argv[1]), open_port(sys.argv[2])
    other_end = {first: second, second: first}
    delay = float(sys.argv[3]) / 1000
    with open(sys.argv[4], "w") as begun:
        begun.write("begun\n")
    under_way = collections.deque()
    while True:
        patience = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for port in select.select([first, second], [], [], patience)[0]:
            try:
                packet = receive(port)
            except OSError:
                continue
            if packet is not None:
                under_way.append((time.monotonic() + delay, other_end[port], packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, port, packet = under_way.popleft()
            try:
                port.send(packet)
            except OSError:
                pass  # lost, as packets may be


main()
