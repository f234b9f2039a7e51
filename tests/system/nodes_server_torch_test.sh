#!/usr/bin/env bash
# A ddprun server is killed and started again under unmodified PyTorch programs. They train on; and one
# that needs its store again restarts, which does not count as a restart.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_torch
program=$(realpath "$(dirname "$0")/programs")/ddp_until.py

need_hosts 3
start_server() { # NAME
  start_on h1 "$1" server --host h1 --port 29400
  node "$1" wait_for_line "listening on .*:29400"
}
train() { # JOB WORD...
  for host in h2 h3; do
    start_on "$host" "$host" --nnodes 2 --max-restarts 0 --rdzv-backend c10d --rdzv-id "$1" \
      --rdzv-endpoint h1:29400 --rdzv-conf heartbeat_timeout=60 "$program" "$scratch/over_$1" "${@:2}"
  done
  for host in h2 h3; do node "$host" wait_for_line "trains in round 1"; done
}
change_server() { # OLD NEW
  kill -KILL "${agents[$1]}"
  node "$1" ends 137
  start_server "$2"
  for host in h2 h3; do node "$host" wait_for_message "the coordinator is there again"; done
}
start_server server_a
train plain
change_server server_a server_b
touch "$scratch/over_plain"
for host in h2 h3; do
  node "$host" ends 0
  node "$host" says out "done in round 1"
done

train grouped group
change_server server_b server_c
touch "$scratch/over_grouped"
for host in h2 h3; do
  node "$host" ends 0
  node "$host" says out "done in round 2"
done
kill -TERM "${agents[server_c]}"
gone "${agents[server_c]}"
