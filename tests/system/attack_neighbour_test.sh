#!/usr/bin/env bash
# Another user of the machine reaches neither the coordinator nor the store of a job on one node.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip "only root can be another user"
python=$(PATH=/usr/bin:/bin command -v python3) || skip "there is no python3 that any user may run"
stranger=$(dirname "$0")/programs/stranger.py
cp "$stranger" "$scratch/stranger.py"
chmod 755 "$scratch" # which the other user reads the program from
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$python" "$scratch/stranger.py" "$@"; }
own() { "$python" "$scratch/stranger.py" "$@"; }
expect() { # WHAT COMMAND...
  local got
  got=$("${@:2}") || fail "$2 $3 $4 $5 has failed"
  [ "$got" = "$1" ] || fail "expected '$1', got '$got': ${*:2}"
}

exec 7<>"$ready"
export go=$scratch/go
mkfifo "$go"

attack() { # ARGUMENTS...: of a job of one worker, which tells where its store is
  local address port
  start --standalone "$@" --no-python sh -c 'echo "$MASTER_ADDR $MASTER_PORT" >"$ready"; read -r _ <"$go"'
  read -r -t 60 -u 7 address port || fail "no worker has begun"
  expect served own store "$address" "$port"
  expect "hung up on" nobody store "$address" "$port"
  expect gone nobody close "$address" "$port"
  expect "not there" own has_key "$address" "$port"
  doors=0
  for coordinator in $(ss -Hltnp | grep "pid=$pid," | awk '{print $4}'); do
    expect "hung up on" nobody agent "${coordinator%:*}" "${coordinator##*:}"
    expect "hung up on" nobody store "${coordinator%:*}" "${coordinator##*:}"
    doors=$((doors + 1))
  done
  [ "$doors" -ge 1 ] || fail "nothing listens"
  says err "user 65534 may not use what belongs to user 0"
  lines=$(grep -c "user 65534" "$scratch/err")
  [ "$lines" -le 10 ] || fail "$lines lines about a stranger"
  echo >"$go"
  ends 0
}
attack
attack --store local

start store --host 127.0.0.1 --port 0 --port-file "$scratch/port"
wait_for_line "listening on"
port=$(cat "$scratch/port")
expect served own store 127.0.0.1 "$port"
expect "hung up on" nobody store 127.0.0.1 "$port"
kill -TERM "$pid"
ends 0
