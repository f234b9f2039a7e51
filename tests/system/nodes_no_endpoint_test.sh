#!/usr/bin/env bash
# A node that cannot reach the coordinator says where it has looked.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 2
start_on h1 unknown --nnodes 2 --rdzv-backend c10d --rdzv-endpoint nowhere:29400 --rdzv-id job \
  --rdzv-conf join_timeout=5 --no-python true
start_on h1 static --nnodes 2 --node-rank 1 --master-addr nowhere \
  --rdzv-conf join_timeout=5 --no-python true
# The host is there, and no process listens.
start_on h1 alone --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h2:29400 --rdzv-id job \
  --rdzv-conf join_timeout=5 --no-python true
for name in unknown static alone; do node "$name" ends 69; done
node unknown says err "cannot reach the coordinator at nowhere:29400"
node static says err "nowhere"
node alone says err "cannot reach the coordinator at h2:29400: Connection refused"

# Nodes that share one terminal, as in a step of Slurm: the first that waits speaks for all.
for rank in 2 1; do
  export SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_STEP_NODELIST='nowhere[0-2]' SLURM_STEP_NUM_NODES=3 \
    SLURM_JOB_NUM_NODES=3 SLURM_NODEID=$rank SLURM_GTIDS=$rank
  start_on h1 "step$rank" --nproc-per-node 1 --no-python true
done
unset "${!SLURM_@}"
node step1 wait_for_message "giving up in"
node step2 says_not err "giving up in"
for rank in 1 2; do
  kill -TERM "${agents[step$rank]}"
  node "step$rank" ends 85 # Slurm takes the nodes away
done

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
