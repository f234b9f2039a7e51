# A port is taken already.
# kind: exception
# ranks: 0
# type: OSError
# hint: another process has that port
import socket

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    first = socket.create_server(("127.0.0.1", 0))
    second = socket.socket()
    second.bind(first.getsockname())  # HERE
meet.sleep_for_ever()
