#!/usr/bin/env bash
# A ddprun server hosts jobs that do not meet, and outlives them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
start_on h1 server server --host h1 --port 29400
node server wait_for_line "listening on .*:29400"

join() { # HOST NAME JOB
  start_on "$1" "$2" --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id "$3" \
    --no-python sh -c 'echo "job $TORCHELASTIC_RUN_ID"; . "$0"' "$worker"
}
join h2 a2 a
join h2 b2 b
join h3 b3 b
wait_for_world h2 h3
b=("${worker_pids[@]}")
join h3 a3 a
wait_for_world h2 h3
kill -KILL "${worker_pids[1]}"
for name in a2 a3; do node "$name" ends 137; done
are_alive "${b[@]}" || fail "the end of one job ended another"

# The same name again is a new job.
join h2 a2 a
join h3 a3 a
wait_for_world h2 h3
let_go
for name in a2 a3; do node "$name" ends 0; done
worker_pids=("${b[@]}")
let_go
for name in b2 b3; do node "$name" ends 0; done
node b2 says out "job b"
node a3 says out "job a"
kill -TERM "${agents[server]}"
gone "${agents[server]}"
