#!/usr/bin/env bash
# A store that runs out of memory closes the connection of the client that asked for it, and serves the others.
. "$(dirname "$0")/lib.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
[ -n "$(command -v prlimit)" ] || skip "there is no prlimit (Debian: util-linux)"
memory_counts || skip "a sanitizer takes more memory than the limit allows"
stranger=$(dirname "$0")/programs/stranger.py
start store --host 127.0.0.1 --port 0 --port-file "$scratch/port"
wait_for_line "listening on"
prlimit --pid "$pid" --as=$((300 << 20))
port=$(cat "$scratch/port")
filled=$(python3 "$stranger" fill 127.0.0.1 "$port")
case $filled in
  "hung up on after "[1-9]*) ;;
  *) fail "a client that asks for more memory than there is: $filled" ;;
esac
[ "$(python3 "$stranger" store 127.0.0.1 "$port")" = served ] || fail "nobody else is served any more"
kill -TERM "$pid"
ends 0
