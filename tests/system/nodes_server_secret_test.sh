#!/usr/bin/env bash
# A ddprun server with a folder of secrets lets each job in with its own, also one that comes later.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
mkdir -m 700 "$scratch/secrets"
"$DDPRUN" secret >"$scratch/secrets/a"
start_on h1 server server --host h1 --port 29400 --secret-dir "$scratch/secrets"
node server wait_for_line "listening on .*:29400"

join() { # HOST NAME JOB SECRET
  start_on "$1" "$2" --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id "$3" \
    --secret-file "$scratch/secrets/$4" --no-python sh "$worker"
}
join h2 a2 a a
join h3 a3 a a
wait_for_world h2 h3
a=("${worker_pids[@]}")

# A file that comes while the server runs.
"$DDPRUN" secret >"$scratch/secrets/b"
join h2 b2 b b
join h3 b3 b b
wait_for_world h2 h3
let_go
for name in b2 b3; do node "$name" ends 0; done

# The secret of one job opens no other one, and none that was taken away.
join h2 wrong a b
node wrong ends 69
node wrong says err "does not take this node's secret"
cp "$scratch/secrets/b" "$scratch/secrets/c"
join h2 alone c c
rm "$scratch/secrets/b"
start_on h3 late --nnodes 2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id b \
  --secret-file "$scratch/secrets/c" --no-python true
node late ends 69
join h3 with c c
wait_for_world h2 h3
let_go
for name in alone with; do node "$name" ends 0; done
are_alive "${a[@]}" || fail "another job has ended a job"
worker_pids=("${a[@]}")
let_go
for name in a2 a3; do node "$name" ends 0; done
kill -TERM "${agents[server]}"
gone "${agents[server]}"
