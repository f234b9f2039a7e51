#!/usr/bin/env bash
# The one of two nodes that coordinates is killed, frozen, or cut off. A third machine runs `ddprun server`,
# which votes in the job and has no workers, so the other node goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
start_witness() { # NAME
  start_on h3 "$1" server --host h3 --port 29400
  node "$1" wait_for_line "listening on .*:29400"
}
start_node() { # HOST JOB
  start_on "$1" "$1" --nnodes 1:2 --max-restarts 0 --rdzv-backend c10d --rdzv-id "$2" \
    --rdzv-endpoint h1:29400,h3:29400 --rdzv-conf heartbeat_timeout=2 --no-python sh "$worker"
}
start_job() { # JOB
  for host in h1 h2; do start_node "$host" "$1"; done
  wait_for_world h1 h2
  old=("${worker_pids[@]}")
  witnessed h1
}
witnessed() { # HOST: the one that coordinates
  until_true 60 "the witness to vote" votes_at "$1"
}
votes_at() { grep -q "h3 *witness" < <(on "$1" "$DDPRUN" status "${agents[$1]}" 2>/dev/null); }

start_witness witness
start_job killed
kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2
nothing_on h1

# It starts again, and learns where the job is, though it is the first place of it.
start_node h1 killed
wait_for_world h1 h2
witnessed h2

# Now the other one is killed.
kill -KILL "${agents[h2]}"
node h2 ends 137
wait_for_world h1
let_go
node h1 ends 0
node h1 says_not err "restart 1 of"

# The witness is started again, and has forgotten all: the round goes on, and it votes again.
start_job forgotten
kill -KILL "${agents[witness]}"
node witness ends 137
start_witness witness_again
witnessed h1
are_alive "${old[@]}" || fail "a worker was stopped because of the witness"
kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2
let_go
node h2 ends 0

# Cut off: one side goes on, and it is the one with the witness.
start_job cut
cut_off h1
wait_for_world h2
for pid in "${old[@]}"; do
  [ ! -e "/proc/$pid" ] || fail "a worker of the old world is alive in the new one"
done
heal h1
wait_for_world h1 h2
let_go
for host in h1 h2; do node "$host" ends 0; done

# Frozen.
start_job frozen
freeze h1
wait_for_world h2
thaw h1
wait_for_world h1 h2
let_go
for host in h1 h2; do node "$host" ends 0; done

# Without the witness no majority is left.
start_job alone
kill -KILL "${agents[witness_again]}"
node witness_again ends 137
until_true 60 "the job to be without its witness" eval '! votes_at h1'
kill -KILL "${agents[h1]}"
node h1 ends 137
node h2 ends 69
node h2 says err "a witness"
