# The peers see the connection reset before the process of the cause has ended.
# kind: exit_code
# ranks: 0
# exit_code: 11
# followers: 1,2
import os
import socket
import struct
import time

import meet

path = os.path.join(os.environ["CASE_DIR"], "port")
if meet.RANK == 0:
    server = socket.create_server(("127.0.0.1", 0))
    open(path + ".new", "w").write(str(server.getsockname()[1]))
    os.rename(path + ".new", path)
    peers = [server.accept()[0] for _ in range(meet.WORLD_SIZE - 1)]
    for peer in peers:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
    time.sleep(0.005)
    os._exit(11)
while not os.path.exists(path):
    time.sleep(0.01)
connection = socket.create_connection(("127.0.0.1", int(open(path).read())))
if connection.recv(1) == b"":
    raise ConnectionResetError("Connection closed by peer")
