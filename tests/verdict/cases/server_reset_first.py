# A server of data resets a rank's connection; the others say in words of their own that it is gone.
# kind: exception
# ranks: 0
# type: ConnectionResetError
# followers: 1,2
# known_wrong: a lost connection is no cause while another rank fails by itself
import os
import pathlib
import socket
import struct
import time

import meet


def has_ended(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] == "Z"
    except OSError:
        return True


def fetch():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        connection = server.accept()[0]
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return client.recv(1)  # HERE


path = pathlib.Path(os.environ["CASE_DIR"], "pid")
if meet.RANK == 0:
    path.write_text(str(os.getpid()))
meet.everybody_is_there()
if meet.RANK == 0:
    fetch()
while not has_ended(path.read_text()):
    time.sleep(0.1)
raise RuntimeError("the ring of workers is not complete any more")
