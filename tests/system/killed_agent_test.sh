#!/usr/bin/env bash
# No worker survives ddprun, however it ends.
. "$(dirname "$0")/lib.sh"

watch_lives
start --standalone --nproc-per-node 4 --no-python \
  sh -c 'trap "" TERM INT HUP; exec 9>"$alive"; echo here >"$ready"; exec sleep 1000'
wait_ready 4
kill -KILL "$pid"
ends 137
all_dead
