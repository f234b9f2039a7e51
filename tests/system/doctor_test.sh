#!/usr/bin/env bash
# ddprun doctor says what is wrong with this node, for people and for programs, and how long it may take.
. "$(dirname "$0")/lib.sh"

# What it finds depends on this machine, which may be ill: 0 or 1.
doctor() {
  local code=0
  "$DDPRUN" doctor "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" -le 1 ] || fail "exit code $code of ddprun doctor $*"
  echo "$code" >"$scratch/code"
}
has() { # PYTHON: a condition on the report d and its findings f, by severity and subject
  python3 - "$scratch/out" "$1" <<'END' || fail "not so: $1"
import json, sys
d = json.load(open(sys.argv[1]))
f = [(each["severity"], each["subject"]) for each in d["findings"]]
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}
[ -n "$(command -v python3)" ] || skip "there is no python3"

doctor --verbose
says out "$(uname -n): "
says out "open-files"
says out "tmp-folder"
doctor --json
has 'd["readings"][0]["memory"]["total_bytes"] > 0 and d["readings"][0]["python"]["version"][0] == "3"'
has 'd["failed"] == sum(each[0] == "failed" for each in f)'
has "(d['failed'] > 0) == ($(cat "$scratch/code") == 1)"

# A script's imports are looked for, and torch is not imported for that.
mkdir "$scratch/torch"
echo 'raise SystemExit("imported")' >"$scratch/torch/__init__.py"
printf '__version__ = "9"\n' >"$scratch/torch/version.py"
sed -i "s/\"9\"/'9.9.0+cu999'/; \$a cuda: str = '999.0'" "$scratch/torch/version.py"
printf 'import os, torch, no_such_module\ntry:\n  import not_needed\nexcept ImportError:\n  pass\n' >"$scratch/train.py"
doctor --json "$scratch/train.py"
has '("failed", "modules") in f and ("ok", "torch") in f and ("ok", "script") in f'
has 'd["readings"][0]["script"]["missing_modules"] == ["no_such_module"]'
has 'd["readings"][0]["python"]["torch"] == "9.9.0+cu999" and d["readings"][0]["python"]["cuda"] == "999.0"'
has "d['readings'][0]['script']['sha256'] == '$(sha256sum "$scratch/train.py" | cut -d ' ' -f 1)'"
[ "$(cat "$scratch/code")" = 1 ] || fail "a missing module is no failure"

# Folders are tried, also those that a job would make; nothing stays behind.
echo x >"$scratch/file"
doctor --json --log-dir "$scratch/logs/today" --checkpoint-dir "$scratch/file/x" "$scratch/none.py"
has '("ok", "logs-folder") in f and ("failed", "checkpoints-folder") in f and ("failed", "script") in f'
has 'any("/logs/today is not there yet; a small file in " in each["seen"] for each in d["findings"])'
[ ! -e "$scratch/logs" ] || fail "the folder of the logs was made"
[ -z "$(ls -A "$TMPDIR")" ] || fail "files are left in $TMPDIR"

# Where a job has --checkpoints, the folder on disk is tried, and the memory for them is compared.
mkdir -p "$scratch/run7/.ddprun"
(cd "$scratch" && doctor --json --checkpoints out=run7)
has '("ok", "checkpoints-folder") in f and any(each[1] == "checkpoints-memory" for each in f)'
has 'd["readings"][0]["checkpoints"]["save_bytes"] == 2**30'
[ -z "$(ls "$scratch/run7")$(ls -A "$scratch/run7/.ddprun")" ] || fail "files are left in the folder of checkpoints"
(cd "$scratch" && doctor --json --checkpoints out=file/x)
has '("failed", "checkpoints-folder") in f'
run 2 doctor --checkpoints out
says err "--checkpoints 'out': expected the program's folder and one on disk"
run 2 doctor --checkpoints out=run7 --checkpoint-dir run7
says err "exclude each other"

# A script that is not there is named with the folder in which it was looked for.
(cd "$scratch" && doctor --verbose no_such.py)
tr -s ' \n' ' ' <"$scratch/out" >"$scratch/in_one_line"
says in_one_line "no_such.py: cannot open '$(realpath "$scratch")/no_such.py': No such file"

# A program in place of a script is named, and what the job needs then. A pipe is nobody's to read but Python's.
printf '#!/bin/bash\ntrain\n' >"$scratch/job"
doctor --json "$scratch/job"
has '("warning", "script") in f and any("is a script for bash" in each["seen"] for each in d["findings"])'
has 'any("--no-python " in each["advice"] for each in d["findings"])'

# Without Python there is no script, and a job may be without both.
PYTHON_EXEC=/no/such/python doctor --json
has '("warning", "python") in f'
PYTHON_EXEC=/no/such/python doctor --json "$scratch/train.py"
has '("failed", "python") in f'

# A limit that is too small is found, also where a process may raise it: workers do not.
(ulimit -n 500 && doctor --json && has '("failed", "open-files") in f')
(ulimit -Sn 500 && doctor --json && has '("failed", "open-files") in f')

run 2 doctor --no-such-option
says err "ddprun: doctor: "
run 0 doctor --help
says out "--checkpoint-dir DIR"
nothing_left
