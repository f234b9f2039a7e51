#!/usr/bin/env bash
# With --check-nodes a node whose disk is full leaves its place to a spare, before the first round and
# before a restart. It takes part where nobody else is there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
export disk=$scratch/disk # each host has its own
export members=$scratch/members # who was in each attempt
mkdir "$members" "$disk"
for host in h1 h2 h3; do on "$host" mount -t tmpfs -o size=128m none "$disk"; done
fill_disk='head -c 108000000 /dev/zero >"$disk/full"' # 20 MiB are left

# job NODES SCRIPT: h1 and h2 come before h3. No worker goes on before all have come.
job() {
  local host
  rm -f "$members"/*
  for host in h1 h2 h3; do
    start_on "$host" "$host" --nnodes "$1" --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job \
      --check-nodes="$disk" --rdzv-conf last_call_timeout=20 --max-restarts 3 \
      --report-file "$scratch/$host.json" --no-python bash "$2"
    has_joined "$host"
  done
  touch "$members/go"
}
were_in_attempt() { # NUMBER HOSTS
  local found
  found=$(cd "$members" && printf '%s\n' "$1".* | sed 's/.*\.//' | xargs)
  [ "$found" = "$2" ] || fail "in attempt $1 were $found, and not $2"
}

cat >"$scratch/train.sh" <<'TRAIN'
until [ -e "$members/go" ]; do sleep 0.05; done
touch "$members/$TORCHELASTIC_RESTART_COUNT.$(uname -n)"
TRAIN
cat >"$scratch/fills.sh" <<TRAIN
until [ -e "\$members/go" ]; do sleep 0.05; done
touch "\$members/\$TORCHELASTIC_RESTART_COUNT.\$(uname -n)"
until [ "\$(ls "\$members" | grep -c "^\$TORCHELASTIC_RESTART_COUNT\.")" = 2 ]; do sleep 0.05; done
[ "\$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0
[ "\$(uname -n)" = h2 ] || exec sleep 1000
$fill_disk
exit 7
TRAIN

# Before a restart: the job itself fills the disk.
job 2 "$scratch/fills.sh"
end_well h1 h2 h3
were_in_attempt 0 "h1 h2"
were_in_attempt 1 "h1 h3"
node h1 says err "without node h2, which fails its check: "
node h2 says err "--check-nodes: this node is not fit: "
node h2 says err "free in $disk (tmpfs); remove what is not needed there, or name another folder"

# Before the first round.
job 2 "$scratch/train.sh"
end_well h1 h2 h3
were_in_attempt 0 "h1 h3"
node h1 says err "without node h2, which fails its check: "
node h2 says err "goes on without this node, which fails its check: "
grep -q '"node_note": "without node h2, which fails its check' "$scratch/h1.json" ||
  fail "the report does not say why: $(cat "$scratch/h1.json")"

# Where all are needed, it takes part, and the job says so.
job 3 "$scratch/train.sh"
end_well h1 h2 h3
were_in_attempt 0 "h1 h2 h3"
node h1 says err "(tmpfs): too few others are there"

# A job of one node has no other.
start_on h2 alone --check-nodes="$disk" --no-python true
node alone ends 0
node alone says err "; the job has no other one, and goes on"

run 2 --check-nodes= --no-python true
says err "expected folders"
