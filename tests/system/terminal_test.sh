#!/usr/bin/env bash
# Workers see a terminal where ddprun writes to one, and with --pty everywhere.
. "$(dirname "$0")/lib.sh"

command -v script >/dev/null || skip "there is no script(1), of the package bsdutils"
cat >"$scratch/worker.sh" <<'SH'
exec 3>&1 4>&2
for stream in 1 2; do
  if [ -t "$stream" ]; then echo "stream $stream: terminal of $(stty size <&$((stream + 2)))"; else echo "stream $stream: none"; fi
done
printf 'plain\nlines\n'
SH

run 0 --no-python sh "$scratch/worker.sh"
says out 'stream 1: none'
run 0 --pty --no-python sh "$scratch/worker.sh"
says out 'stream 1: terminal of 24 80'
says out 'stream 2: terminal of 24 80'
printf 'plain\nlines\n' >"$scratch/expected"
tail -n 2 "$scratch/out" | cmp - "$scratch/expected" || fail "the terminal changed the bytes"

# on_terminal COMMAND: runs it on a terminal of 30 lines and 100 columns, and prints its output.
on_terminal() {
  script -qec "stty rows 30 cols 100; $1" /dev/null </dev/null | tr -d '\r' >"$scratch/out"
}
on_terminal "'$DDPRUN' --no-python sh '$scratch/worker.sh'"
says out 'stream 1: terminal of 30 100'
on_terminal "'$DDPRUN' --no-pty --no-python sh '$scratch/worker.sh'"
says out 'stream 1: none'
on_terminal "'$DDPRUN' --no-python sh '$scratch/worker.sh' 2>/dev/null"
says out 'stream 2: none'

# All of it arrives, at once and at the end.
head -c 1000000 /dev/urandom >"$scratch/bytes"
export scratch
run 0 --pty --no-python sh -c 'cat "$scratch/bytes"'
cmp "$scratch/bytes" "$scratch/out" || fail "binary output through a terminal was changed"
nothing_left
