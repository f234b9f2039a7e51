# Rank 0 cannot open a store of its own, because the port is taken; the others wait for it in vain.
# kind: exception
# ranks: 0
# needs: torch
# type: torch.distributed.DistNetworkError
# hint: another process has that port
import datetime
import os
import socket

import torch.distributed as dist

import meet

path = os.path.join(os.environ["CASE_DIR"], "port")
if meet.RANK == 0:
    taken = socket.create_server(("0.0.0.0", 0))
    open(path + ".new", "w").write(str(taken.getsockname()[1]))
    os.rename(path + ".new", path)
    meet.tell("taken")
meet.wait_for("taken")
port = int(open(path).read())
dist.TCPStore("127.0.0.1", port, 3, meet.RANK == 0, datetime.timedelta(seconds=20))  # HERE
meet.sleep_for_ever()
