#!/usr/bin/env bash
# A node that cannot reach the coordinator says where it has looked.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 2
start_on h1 unknown --nnodes 2 --rdzv-backend c10d --rdzv-endpoint nowhere:29400 --rdzv-id job \
  --rdzv-conf join_timeout=1 --no-python true
node unknown ends 69
node unknown says err "cannot reach the coordinator at nowhere:29400"
start_on h1 unknown --nnodes 2 --node-rank 1 --master-addr nowhere \
  --rdzv-conf join_timeout=1 --no-python true
node unknown ends 69
node unknown says err "nowhere"

# The host is there, and nobody listens.
start_on h1 alone --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h2:29400 --rdzv-id job \
  --rdzv-conf join_timeout=1 --no-python true
node alone ends 69
node alone says err "cannot reach the coordinator at h2:29400: Connection refused"

# The cable is cut.
cut_off h2
start_on h1 cut --nnodes 2 --node-rank 1 --master-addr h2 --rdzv-conf join_timeout=1 --no-python true
node cut ends 69
node cut says err "cannot reach the coordinator at h2:29500"

# Another program has the port.
on h1 python3 -c 'import os, socket
s = socket.create_server(("", 29500))
open(os.environ["ready"], "w").write("listening\n")
s.accept()' &
wait_ready 1
start_on h1 taken --nnodes 2 --node-rank 0 --master-addr h1 --no-python true
node taken ends 71
node taken says err "29500"
nothing_left
