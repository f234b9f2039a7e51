#!/usr/bin/env bash
# When the port of a coordinator is taken, the message says by whom.
. "$(dirname "$0")/lib.sh"

port=$(own_port)
start --nnodes 2 --rdzv-id first --master-port "$port" --no-python true
until_true 60 "the coordinator on port $port" timeout 1 bash -c ": <>/dev/tcp/127.0.0.1/$port"
first=$pid
run 71 --nnodes 2 --rdzv-id second --master-port "$port" --no-python true
says err "cannot listen on 127.0.0.1 port $port: Address already in use: it is the coordinator of"
says err "another job, ddprun with process id $first on "
says_not err "job 'first'"
run 71 --nnodes 2 --rdzv-id first --master-port "$port" --no-python true
says err "it is the coordinator of the same job, ddprun with process id $first on "
kill -TERM "$first"
ends 143

start server --host 127.0.0.1 --port "$port"
wait_for_line "listening on 127.0.0.1:$port"
run 71 server --host 127.0.0.1 --port "$port"
says err "it is the coordinator of 0 jobs, ddprun with process id $pid on "
kill -TERM "$pid"
ends 0

run 0 server --help
says out "Usage: ddprun server"
run 2 server --port 65536
says err "--port '65536'"
