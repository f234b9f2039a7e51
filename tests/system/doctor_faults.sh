# shellcheck shell=bash disable=SC2154 # scratch is that of lib.sh
# Faults of a host that a test plants, and the words of a test of ddprun doctor. A test sources this
# file after ssh_hosts.sh.
#
# On each host, ddprun is started by $remote, which first reads the host's own $scratch/HOST.start:
# there a test changes what ddprun finds in its environment and its limits.
remote=$scratch/remote-ddprun
shared=$scratch/shared

# need_doctor_hosts N: hosts that are well: with a name server, and the same Python with a torch.
need_doctor_hosts() {
  local i
  [ -n "$(command -v python3)" ] || skip "there is no python3"
  need_ssh_hosts "$1"
  cat >"$remote" <<EOF
#!/bin/bash
if [ -e "$scratch/\$(uname -n).start" ]; then . "$scratch/\$(uname -n).start"; fi
exec "$DDPRUN" "\$@"
EOF
  chmod +x "$remote"
  make_python well 2.11.0
  mkdir "$shared"
  echo 'print("trained")' >"$scratch/train.py"
  start_name_server
  for ((i = 1; i <= $1; i++)); do
    echo "nameserver 10.77.0.250" >"$scratch/h$i.resolv"
    on "h$i" mount --bind "$scratch/h$i.resolv" "$(realpath /etc/resolv.conf)"
    echo "PATH=$scratch/well/bin:\$PATH" >"$scratch/h$i.start"
  done
}

# make_python NAME VERSION: an environment $scratch/NAME with a torch of that version, as far as the doctor looks.
make_python() {
  mkdir -p "$scratch/$1/bin" "$scratch/$1/lib/torch"
  : >"$scratch/$1/lib/torch/__init__.py"
  printf "__version__ = '%s+cpu'\ncuda: Optional[str] = None\n" "$2" >"$scratch/$1/lib/torch/version.py"
  printf '#!/bin/sh\nPYTHONPATH=%s exec %s "$@"\n' "$scratch/$1/lib" \
    "$(python3 -c 'import sys; print(sys.executable)')" >"$scratch/$1/bin/python3"
  chmod +x "$scratch/$1/bin/python3"
}

# start_name_server: one on `me`, which knows no names and says so.
start_name_server() {
  cat >"$scratch/name_server.py" <<'PY'
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.77.0.250", 53))
open(sys.argv[1], "w").write("listens\n")
while True:
    question, asker = server.recvfrom(512)
    server.sendto(question[:2] + b"\x81\x83" + question[4:], asker)  # no such name
PY
  exec_on me setpriv --pdeathsig KILL python3 "$scratch/name_server.py" "$scratch/kept" </dev/null >/dev/null 2>&1 &
  disown $!
  read -r -t 60 _ <>"$scratch/kept" || fail "no name server"
}

# doctor CODE HOSTS ARGUMENTS...: runs it on `me`.
doctor() {
  local expected=$1 code=0
  shift
  on me "$DDPRUN" doctor --json --ssh-cmd "ssh -F $ssh_config" --remote-path "$remote" --hosts "$@" \
    --checkpoint-dir "$shared" "$scratch/train.py" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" = "$expected" ] || {
    complaints
    fail "exit code $code, expected $expected: ddprun doctor $*"
  }
}

# complaints: prints each failure and warning, as "failed shm on h3: WHAT WAS SEEN".
complaints() {
  python3 - "$scratch/out" <<'PY'
import json, sys
for each in json.load(open(sys.argv[1]))["findings"]:
    if each["severity"] != "ok":
        print(f"{each['severity']} {each['subject']} on {each['node']}: {each['seen']}")
PY
}

# finds PATTERN...: each of them is in one of the complaints.
finds() {
  local pattern said
  said=$(complaints)
  for pattern; do
    grep -qE -- "$pattern" <<<"$said" || fail "no complaint has '$pattern': $said"
  done
}

# This machine may have more to do than this test, and then the doctor is right to complain of it.
other_complaints() { complaints | grep -v '^warning cpus-busy ' || true; }

# finds_only PATTERN...: as many complaints, and each is one of them.
finds_only() {
  finds "$@"
  [ "$(other_complaints | wc -l)" = $# ] || fail "there are other complaints than '$*': $(complaints)"
}
finds_nothing() { [ -z "$(other_complaints)" ] || fail "these hosts are well: $(complaints)"; }
