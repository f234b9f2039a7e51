"""torch's own store server in a process of its own, until it is stopped; says where it listens."""

import os
import signal
from datetime import timedelta

os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
import torch.distributed as dist  # noqa: E402

store = dist.TCPStore("127.0.0.1", 0, None, True, timedelta(seconds=30), wait_for_workers=False)
print(f"listening on 127.0.0.1:{store.port}", flush=True)
signal.pause()
