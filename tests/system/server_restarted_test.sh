#!/usr/bin/env bash
# A ddprun server that is killed and started again goes on counting rounds and restarts. The first
# failure after that costs none: the worker's store was lost with the server.
. "$(dirname "$0")/lib.sh"

watch_lives
port=$(own_port)
worker='echo "$TORCHELASTIC_RESTART_COUNT $DDPRUN_ROUND" >"$ready"; exec sleep 1000'
start_server() {
  "$DDPRUN" server --host 127.0.0.1 --port "$port" >"$scratch/server_out" 2>"$scratch/server_err" \
    </dev/null &
  server=$!
  until_true 60 "the server" timeout 1 bash -c ": <>/dev/tcp/127.0.0.1/$port"
}
runs_as() { # RESTARTS ROUND
  local seen
  read -r -t 60 -u 7 seen || fail "60 s went by, and no worker has come"
  [ "$seen" = "$1 $2" ] || fail "the worker sees '$seen', and not '$1 $2'"
}
start_server
start --nnodes 1:2 --max-restarts 1 --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$port" \
  --rdzv-id job --rdzv-conf last_call_timeout=0,heartbeat_timeout=25 --log-dir "$scratch/logs" \
  --no-python sh -c "$worker"
runs_as 0 1
kill -KILL "$(worker_pid 0)"
runs_as 1 2
first=$(worker_pid 0)
kill -KILL "$server"
wait "$server" || true # Its port is free only once it has died.
start_server
wait_for_message "the coordinator is there again"
[ "$(worker_pid 0)" = "$first" ] || fail "the worker is another one"
kill -KILL "$first"
runs_as 1 3
kill -KILL "$(worker_pid 0)"
ends 137
says err "the job failed: rank 0"
[ "$(find "$scratch/logs" -name 'attempt_*' | wc -l)" = 3 ] || fail "not each round had its folder"
kill -TERM "$server"
gone "$server"
