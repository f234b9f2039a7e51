#!/usr/bin/env bash
# A node that is the cause of failures again and again leaves its place to a spare, in this job and in
# later ones; a bug that fails on one node after another strikes none of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
history=$scratch/history

export members=$scratch/members # who was in the last round of each attempt
mkdir "$members"

# job SCRIPT ARGUMENTS...: h1 and h2 come before h3, which is a spare if they are taken. No worker goes on
# before all have come.
job() {
  local host
  for host in h1 h2 h3; do
    start_on "$host" "$host" --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "${server:-h1:29400}" --rdzv-id job \
      --max-restarts 10 "${@:2}" --no-python bash "$1"
    has_joined "$host"
  done
  touch "$members/go"
}

# In every second round h2 fails, and in the others h1 does. Without h2 the job ends well.
cat >"$scratch/bad_node.sh" <<'SH'
until [ -e "$members/go" ]; do sleep 0.05; done
touch "$members/$TORCHELASTIC_RESTART_COUNT.$(uname -n)"
until [ "$(ls "$members" | grep -c "^$TORCHELASTIC_RESTART_COUNT\.")" = 2 ]; do sleep 0.05; done
[ -e "$members/$TORCHELASTIC_RESTART_COUNT.h2" ] || exit 0
case $((TORCHELASTIC_RESTART_COUNT % 2)).$(uname -n) in
  0.h2) exit 7 ;;
  1.h1) exit 9 ;;
esac
exec sleep 1000
SH
job "$scratch/bad_node.sh" --node-history "$history"
end_well h1 h2 h3
node h1 says err "restart 5 of 10"
node h1 says_not err "restart 6"
node h1 says err "without node h2, which caused 3 failures within 1d (--node-strikes 3)"
node h2 says err "goes on without this node, which caused 3 failures within 1d (--node-strikes 3): it waits as a spare"

# People see why.
run 0 nodes "$history"
says out "h2           3        3"
says out "exited with code 7"
says out "With 3 strikes within 1d a node takes part only while others are too few: h2."
run 0 nodes "$history" --json
says out '"left_out":true'

# A later job begins without it, as soon as there is another one in its place.
rm "$members"/*
job "$scratch/bad_node.sh" --node-history "$history"
end_well h1 h2 h3
node h1 says_not err "restart 1"
[ ! -e "$members/0.h2" ] || fail "h2 was taken while h3 was there"

# It is forgiven once it is mended.
run 0 nodes "$history" --forgive h2
says out "forgave h2 3 failures"
run 1 nodes "$history" --forgive h2
says err "knows no failure of node 'h2'"
rm "$members"/*
cat >"$scratch/notes_members.sh" <<'SH'
until [ -e "$members/go" ]; do sleep 0.05; done
touch "$members/$(uname -n)"
until [ "$(ls "$members" | wc -l)" = 3 ]; do sleep 0.05; done
SH
job "$scratch/notes_members.sh" --node-history "$history"
end_well h1 h2 h3
[ "$(ls "$members")" = $'go\nh1\nh2' ] || fail "other members than h1 and h2: $(ls "$members")"

# A bug that fails on one node after the other.
run 0 nodes "$history" --forgive h1
rm "$members"/*
cat >"$scratch/bug.sh" <<'SH'
until [ -e "$members/go" ]; do sleep 0.05; done
touch "$members/$TORCHELASTIC_RESTART_COUNT.$RANK"
until [ "$(ls "$members" | grep -c "^$TORCHELASTIC_RESTART_COUNT\.")" = 2 ]; do sleep 0.05; done
[ "$TORCHELASTIC_RESTART_COUNT" -lt 8 ] || exit 0
[ $((TORCHELASTIC_RESTART_COUNT % 2)) != "$RANK" ] || exit 7
exec sleep 1000
SH
job "$scratch/bug.sh" --node-history "$history"
end_well h1 h2 h3
node h1 says err "restart 8 of 10"
node h1 says_not err "without node"
node h3 says_not err "restart 1 of"
run 0 nodes "$history"
says_not out "With 3 strikes"

# A server remembers by itself, as long as it lives, for the jobs that count strikes.
start_on h4 server server --host h4 --port 29401
node server wait_for_line "listening on .*:29401"
rm "$members"/*
server=h4:29401
job "$scratch/bad_node.sh" --node-strikes 1
end_well h1 h2 h3
node h1 says err "without node h2, which caused 1 failure within 1d (--node-strikes 1)"
rm "$members"/*
job "$scratch/bad_node.sh" --node-strikes 1
end_well h1 h2 h3
node h1 says_not err "restart 1"
kill -TERM "${agents[server]}"
gone "${agents[server]}"

# A warning says what cannot be kept, and the job goes on.
rm "$members"/*
server=''
touch "$scratch/file"
job "$scratch/bad_node.sh" --node-history "$scratch/file"
end_well h1 h2 h3
node h1 says err "--node-history: '$scratch/file'"
node h1 says err "without node h2, which caused 3 failures"
