#!/usr/bin/env bash
# Peers that connect, begin to speak and go on no further keep no node out, and no descriptor for long.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
[ -n "$(command -v python3)" ] || skip "there is no python3"
stranger=$(realpath "$(dirname "$0")/programs/stranger.py")
job=(--nnodes 1:2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job
  --rdzv-conf last_call_timeout=60 --no-python sh "$worker")
start_on h1 h1 "${job[@]}"

# It listens at the address that its name has, and nowhere else.
listens() { on h1 ss -Hltn | grep -q '10.77.0.1:29400'; }
until_true 60 "the coordinator to listen" listens
if on h1 ss -Hltn | grep 29400 | grep -v '10.77.0.1:29400'; then fail "it listens elsewhere, too"; fi

mkfifo "$scratch/hold"
exec 8<>"$scratch/hold"
export flood=$scratch/flood # all begin together: a peer that says nothing useful has 10 s
for i in 1 2 3; do
  on h3 python3 "$stranger" flood h1 29400 <"$scratch/hold" >"$scratch/flood$i" &
done
for i in 1 2 3; do until_true 60 "the program of flood $i" grep -q here "$scratch/flood$i"; done
touch "$flood"
for i in 1 2 3; do until_true 60 "flood $i" grep -q flooded "$scratch/flood$i"; done
connections() { on h1 ss -Htn state established '( sport = 29400 )' | grep -c 10.77.0.3 || true; }
[ "$(connections)" -ge 600 ] || fail "there are only $(connections) connections of the flood"
start_on h2 h2 "${job[@]}"
wait_for_world h1 h2

none_left() { [ "$(connections)" = 0 ]; }
until_true 60 "the flood to be closed" none_left
lines=$(wc -l <"$nodes/h1/err")
[ "$lines" -le 5 ] || fail "the flood has caused $lines lines: $(head "$nodes/h1/err")"
told=$(on h3 python3 "$stranger" agent h1 29400) || fail "a stranger gets no answer"
[ -n "$told" ] || fail "a stranger has learned nothing, not even that it is hung up on"
[[ $told != *'"job"'* ]] || fail "it tells its job: $told"
let_go
node h1 ends 0
node h2 ends 0
