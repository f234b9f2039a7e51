#!/usr/bin/env bash
# ddprun doctor --hosts compares hosts over ssh, and tries the way between each two of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
need_ssh_hosts 3
doctor() { # CODE ARGUMENTS...: runs it on `me`
  local expected=$1 code=0
  shift
  on me "$DDPRUN" doctor --ssh-cmd "ssh -F $ssh_config" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" = "$expected" ] || fail "exit code $code, expected $expected: ddprun doctor $*"
}
has() { # PYTHON: a condition on the report d and its findings f, by severity, subject and node
  python3 - "$scratch/out" "$1" <<'END' || fail "not so: $1"
import json, sys
d = json.load(open(sys.argv[1]))
f = [(each["severity"], each["subject"], each["node"]) for each in d["findings"]]
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

# These hosts are one machine, so all is the same, clocks and folders as well. The script imports nothing.
mkdir "$scratch/shared"
echo 'print("trained")' >"$scratch/train.py"
PYTHON_EXEC=$(command -v python3)
export PYTHON_EXEC
before=$(date +%s%N)
doctor 0 --json --hosts h1,h2,h3 --checkpoint-dir "$scratch/shared" "$scratch/train.py"
echo "three hosts took $((($(date +%s%N) - before) / 1000000)) ms"
has '("ok", "link", "all nodes") in f and ("ok", "clock", "all nodes") in f'
has '("ok", "checkpoints-shared", "all nodes") in f and ("ok", "same-script", "all nodes") in f'
has '[each["node"] for each in d["readings"]] == ["h1", "h2", "h3"]'
has 'all(len(each["links"]) == 2 and each["links"][0]["mtu"] > 0 for each in d["readings"])'
[ -z "$(ls -A "$scratch/shared")" ] || fail "files are left in the folder of checkpoints"
doctor 0 --json --hosts h1,h2,h3 --checkpoints "out=$scratch/shared" "$scratch/train.py"
has '("ok", "checkpoints-shared", "all nodes") in f'
has '[each["checkpoints"]["save_bytes"] for each in d["readings"]] == [2**30] * 3'
nothing_of_the_job_on h1 h2 h3

# One host has another folder and another script; one more is not there at all.
on h3 mount -t tmpfs none "$scratch/shared"
mkdir "$scratch/other"
echo 'print("other")' >"$scratch/other/train.py"
on h3 mount --bind "$scratch/other/train.py" "$scratch/train.py"
echo "10.77.0.9 h9" >>"$scratch/etc_hosts"
doctor 1 --json --hosts h1,h2,h3,h9 --checkpoint-dir "$scratch/shared" "$scratch/train.py"
has '("failed", "same-script", "h3") in f and ("failed", "checkpoints-shared", "h3") in f'
has '("failed", "reached", "h9") in f and ("ok", "link", "all nodes") in f'
nothing_of_the_job_on h1 h2 h3

doctor 2 --hosts h1,h1
doctor 2 --hosts h1 --hostfile "$scratch/train.py"
