"""A stand-in for a training over NCCL on GPUs: of two ranks, rank 1 has not reached an all-reduce. What
torch's worker server would answer, and what NCCL's RAS service would say on rank 0, are served here. Run it
with `python -S`, so that no hook of ddprun takes the variable away."""

import json
import os
import pathlib
import socket
import threading
import time

rank = int(os.environ["RANK"])
entered = 5 if rank == 0 else 4
entry = {"collective_seq_id": 5, "input_dtypes": ["Float"], "input_sizes": [[3]], "pg_id": 0,
         "process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", "retired": False,
         "state": "scheduled"}
trace = {"entries": [entry] if rank == 0 else [], "nccl_comm_state": {},
         "pg_status": {"0": {"last_completed_collective": 4, "last_enqueued_collective": entered}},
         "version": "2.10"}
# The recorder of the other backends knows nothing of NCCL.
others = {"nccl_comm_state": {}, "pg_status": {}, "version": "2.10"}
answers = {"dump_nccl_trace_json": trace, "fr_trace_json": others, "wait_counter_values": {}}
RAS = "Job summary\n===========\n\nErrors\n======\n\n#0-0 (cf26) INCOMPLETE\n  The missing rank: 1\n\n"


def take_all(listener, serve):
    while True:
        connection, _ = listener.accept()
        with connection:
            serve(connection)


def as_worker_server(connection):
    name = connection.recv(4096).split(b" ")[1].split(b"/")[-1].split(b"?")[0].decode()
    body = json.dumps(answers[name], separators=(",", ":")).encode() if name in answers else b""
    status = b"200 OK" if name in answers else b"404 Not Found"
    connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))


def as_ras(connection):
    with connection.makefile("rw") as lines:
        for answer in ("SERVER PROTOCOL 2\n", "OK\n", RAS):
            print("asked:", lines.readline().strip(), flush=True)
            lines.write(answer)
            lines.flush()


def serve(family, address, how):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    threading.Thread(target=take_all, args=(listener, how), daemon=True).start()


place = os.environ["DDPRUN_INTROSPECTION"]
rank_1_is_here = pathlib.Path(os.environ["RANK_1_IS_HERE"])
if rank == 0:
    host, port = os.environ["NCCL_RAS_ADDR"].split(":")
    serve(socket.AF_INET, ("127.0.0.1", int(port)), as_ras)
    while not rank_1_is_here.exists():  # a rank that comes late is another hang
        time.sleep(0.05)
serve(socket.AF_UNIX, f"{place}.{os.getpid()}.sock", as_worker_server)
if rank == 1:
    rank_1_is_here.touch()
time.sleep(600)
