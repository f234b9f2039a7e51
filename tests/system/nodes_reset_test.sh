#!/usr/bin/env bash
# A connection that is reset at the agent's end only: the node comes back at once, with the rank that it
# had asked for, although the coordinator's end still looks open. Its workers go on meanwhile.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3 to carry connections"
watch_lives
mkfifo "$scratch/port" "$scratch/orders"
port=$(own_port)
worker='trap "exit 0" USR1; echo "rank $RANK" >"$ready"; sleep 1000 >/dev/null 2>&1 & wait'
start_node() { # RANK PORT
  "$DDPRUN" --nnodes 2 --node-rank "$1" --master-addr 127.0.0.1 --master-port "$2" \
    --rdzv-conf heartbeat_timeout=60 --no-python sh -c "$worker" \
    >"$scratch/out$1" 2>"$scratch/err$1" </dev/null &
  pids[$1]=$!
}
declare -a pids workers
start_node 0 "$port"
until_true 60 "the coordinator on port $port" timeout 1 bash -c ": <>/dev/tcp/127.0.0.1/$port"
python3 "$(dirname "$0")/half_dead.py" "$port" "$scratch/port" <"$scratch/orders" >"$ready" &
exec 8>"$scratch/orders"
read -r -t 60 way <"$scratch/port" || fail "nobody carries connections"
start_node 1 "$way"
wait_ready 3 # the connection, and two workers
for rank in 0 1; do
  pid=${pids[$rank]}
  workers[rank]=$(worker_pid "$rank")
done
echo reset >&8
wait_ready 1 # long before the heartbeat timeout of a minute
kill -USR1 "${workers[@]}"
for rank in 0 1; do
  pid=${pids[$rank]}
  cp "$scratch/err$rank" "$scratch/err"
  ends 0
done
for rank in 0 1; do
  cp "$scratch/err$rank" "$scratch/err"
  says_not err "lost"
  says_not err "joined again"
done
nothing_left
