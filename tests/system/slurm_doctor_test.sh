#!/usr/bin/env bash
# ddprun doctor in an allocation of Slurm looks at all its nodes, through srun, and compares them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/slurm.sh"

need_slurm 3
[ -n "$(command -v python3)" ] || skip "there is no python3"
mkdir "$slurm/shared"
echo 'print("trained")' >"$slurm/train.py"
doctor="'$DDPRUN' doctor --json --checkpoint-dir '$slurm/shared' '$slurm/train.py'"

has() { # FILE PYTHON: a condition on the report d and its findings f, by severity, subject and node
  python3 - "$slurm/$1" "$2" <<'END' || fail "not so: $2"
import json, sys
d = json.load(open(sys.argv[1]))
f = [(each["severity"], each["subject"], each["node"]) for each in d["findings"]]
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

# A batch script. The options for its tasks are not those of the steps, and the login that it was submitted from is not
# the way to any node.
submit --nodes=3 --ntasks-per-node=2 --wrap="export SSH_CONNECTION='192.0.2.1 5000 192.0.2.2 22'
  $doctor >$slurm/all.json"
job_ends "$job" COMPLETED
job_says "$job" "Slurm job $job: looking at 3 nodes by srun"
has all.json '[each["node"] for each in d["readings"]] == ["h1", "h2", "h3"]'
has all.json '("ok", "link", "all nodes") in f and ("ok", "checkpoints-shared", "all nodes") in f'
has all.json '("ok", "same-script", "all nodes") in f and d["failed"] == 0'

# One node has another script.
echo 'print("other")' >"$slurm/other.py"
on h2 mount --bind "$slurm/other.py" "$slurm/train.py"
submit --nodes=3 --wrap="$doctor >$slurm/differs.json"
job_ends "$job" FAILED
has differs.json '[each for each in f if each[0] == "failed"] == [("failed", "same-script", "h2")]'
on h2 umount "$slurm/train.py"

# Beside a step that has all of the job's CPUs, and from a shell of an allocation that is on none of its nodes.
# Its shell ends the step itself: a salloc whose job is cancelled while its command ends may wait for ever.
on ctl timeout 100 salloc --nodes=3 sh -c "srun sleep 1000 & step=\$!
  until squeue --noheader --steps | grep -q sleep; do sleep 0.1; done
  $doctor; kill \$step; wait" >"$slurm/salloc.json" 2>"$slurm/out/salloc" </dev/null || true
grep -q "looking at 3 nodes by srun" "$slurm/out/salloc" || fail "salloc: $(cat "$slurm/out/salloc")"
has salloc.json 'len(d["readings"]) == 3 and ("ok", "link", "all nodes") in f'

# This node alone: by the option, and within a step.
submit --nodes=3 --wrap="'$DDPRUN' doctor --no-cluster --json >$slurm/one.json"
job_ends "$job" COMPLETED
job_says_not "$job" "by srun"
has one.json 'len(d["readings"]) == 1'
submit --nodes=3 --wrap="srun sh -c '\"$DDPRUN\" doctor --json >$slurm/step.\$(uname -n).json'"
job_ends "$job" COMPLETED
has step.h3.json '[each["node"] for each in d["readings"]] == ["h3"]'

no_process_of "doctor --node"
