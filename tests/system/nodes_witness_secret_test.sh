#!/usr/bin/env bash
# In a job with a secret the witness needs it, too, and then votes as in any other. A witness with the secret
# of another job has no vote.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
mkdir -m 700 "$scratch/secrets" "$scratch/own"
for job in with without; do "$DDPRUN" secret >"$scratch/own/$job"; done
cp "$scratch/own/with" "$scratch/secrets/with"
"$DDPRUN" secret >"$scratch/secrets/without"
start_on h3 witness server --host h3 --port 29400 --secret-dir "$scratch/secrets"
node witness wait_for_line "listening on .*:29400"

start_job() { # JOB
  for host in h1 h2; do
    start_on "$host" "$host" --nnodes 1:2 --max-restarts 0 --rdzv-backend c10d --rdzv-id "$1" \
      --rdzv-endpoint h1:29400,h3:29400 --rdzv-conf heartbeat_timeout=2,join_timeout=30 \
      --secret-file "$scratch/own/$1" --no-python sh "$worker"
  done
  wait_for_world h1 h2
}
votes() { grep -q "h3 *witness" < <(on h1 "$DDPRUN" status "${agents[h1]}" 2>/dev/null); }

start_job with
until_true 60 "the witness to vote" votes
kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2
let_go
node h2 ends 0

start_job without
kill -KILL "${agents[h1]}"
node h1 ends 137
node h2 ends 69
node h2 says err "a witness"
