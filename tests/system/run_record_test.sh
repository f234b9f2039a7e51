#!/usr/bin/env bash
# With --log-dir, the last good run of a script leaves a record. The report of a run that fails names what has changed
# since then. A record that cannot be read or written is one warning, and changes nothing else.
. "$(dirname "$0")/lib.sh"

logs=$scratch/logs
mkdir "$scratch/bin"
cd "$scratch"
export PYTHON_EXEC
PYTHON_EXEC=$(python3 -c 'import sys; print(sys.executable)')

good='import sys'
bad='import sys; sys.exit(3)'
# script NAME TEXT
script() { echo "$2" >"$scratch/$1"; }
record() { echo "$logs"/.last-good-run."$1".????????.json; }
report() { find "$logs" -name report.json -printf '%T@ %p\n' | sort -n | tail -1 | cut -d" " -f2; }
# warnings TEXT: how many lines have it.
warnings() { grep -cF -- "$1" "$scratch/err" || true; }

# --- Nothing is known yet ---
script train.py "$bad"
run 3 --log-dir "$logs" train.py
says_not err "since it worked"
[ ! -e "$(record train.py)" ] || fail "a run that failed has left a record"

# --- It works, and leaves a record without secrets; then it is changed ---
script train.py "$good"
run 0 --log-dir "$logs" --nproc-per-node 2 train.py --lr 0.1 --hf-token very-secret
[ -s "$(record train.py)" ] || fail "no record in $(ls -A "$logs")"
grep -q '"--lr"' "$(record train.py)" || fail "the record lacks the arguments"
! grep -q very-secret "$(record train.py)" || fail "the record holds a secret"
script train.py "$bad"
NCCL_DEBUG=INFO run 3 --log-dir "$logs" --nproc-per-node 3 train.py --lr 0.2 --hf-token very-secret
says err "before: train.py changed, arguments '--lr 0.1' → '--lr 0.2', --nproc-per-node 2 → 3, NCCL_DEBUG=INFO is new"
grep -q '"changed_since_good_run": {' "$(report)" || fail "report.json says nothing of it"
! grep -q very-secret "$(report)" || fail "the report holds a secret"
run 0 explain "$(report)"
says out "before: train.py changed, arguments"

# --- The same again fails, too: a good run is compared with, whatever failed in between ---
run 3 --log-dir "$logs" --nproc-per-node 2 train.py --lr 0.1 --hf-token other
says err "before: train.py changed"
says_not err "NCCL_DEBUG"

# --- A script that is edited while it runs is recorded as it was when it began ---
script edit.py 'import os; open(os.environ["ready"], "w").write("x\n"); open(os.environ["goes_on"]).read()'
sum=$(sha256sum <edit.py | cut -d' ' -f1)
mkfifo "$scratch/goes_on"
export goes_on=$scratch/goes_on
exec 7<>"$ready"
LOGLEVEL=DEBUG start --log-dir "$logs" edit.py
wait_ready 1
wait_for_message "gathered the facts of this run for its record"
script edit.py "$bad"
echo >"$scratch/goes_on"
ends 0
grep -q "$sum" "$(record edit.py)" || fail "the record has another script"

# --- A script that is mended before a restart is recorded as it was in the round that worked ---
script mend.py 'import os, sys; open(os.environ["ready"], "w").write("x\n"); sys.exit(open(os.environ["goes_on"]).read())'
LOGLEVEL=DEBUG start --log-dir "$logs" --max-restarts 1 mend.py
wait_ready 1
wait_for_message "gathered the facts of this run for its record"
script mend.py "$good"
echo broken >"$scratch/goes_on"
ends 0
grep -q "$(sha256sum <mend.py | cut -d' ' -f1)" "$(record mend.py)" || fail "the record has the broken script"

# --- A disk that hangs holds up no report: here it is a terminal at which nobody types ---
mkfifo "$scratch/tty"
python3 -c 'import os, pty, signal
ends = pty.openpty()
print(os.ttyname(ends[1]), flush=True)
signal.alarm(30)
signal.pause()' >"$scratch/tty" &
typist=$!
read -r terminal <"$scratch/tty"
mkdir -p "$scratch/slow/torch"
ln -s "$terminal" "$scratch/slow/torch/version.py"
script slow.py "$bad"
PYTHONPATH=$scratch/slow run 3 --log-dir "$logs" slow.py
says err "this run is not compared with a good one: its facts could not be gathered: no answer from a disk for 2000 ms"
says err "the job failed"
script slow.py "$good"
PYTHONPATH=$scratch/slow run 0 --log-dir "$logs" slow.py
says err "no record of this run: its facts could not be gathered"
[ ! -e "$(record slow.py)" ] || fail "a record without facts"
{ kill "$typist"; wait "$typist" || true; } 2>/dev/null

# --- The text of a command is recorded nowhere; what is compared is the shell ---
for code in 0 1; do
  run $code --log-dir "$logs" --no-python bash -lc "HF_TOKEN=hf_x; exit $code"
done
says err "before: arguments '-lc HF_TOKEN=***; exit 0' → '-lc HF_TOKEN=***; exit 1'"
[ -s "$(record bash)" ] || fail "no record of bash in $(ls -A "$logs")"
! grep -rq hf_x "$logs"/.last-good-run.* "$(report)" || fail "a record holds the secret of a command"
! find "$logs" -name '*hf_x*' | grep . || fail "a file is named by the text of a command"

# --- Several scripts in one folder do not mix ---
script other.py "$good"
run 0 --log-dir "$logs" other.py
script other.py 'import sys; sys.exit(4)'
run 4 --log-dir "$logs" --max-restarts 1 other.py
says err "before: other.py changed, --max-restarts 1 is new"
script fine.py "import os, sys; sys.exit(int(os.environ['CODE']))"
CODE=0 run 0 --log-dir "$logs" fine.py
CODE=5 run 5 --log-dir "$logs" fine.py
says err "nothing that ddprun records has changed since it worked"

# --- What is no record is passed over, with one warning ---
echo '{' >"$(record fine.py)"
CODE=5 run 5 --log-dir "$logs" fine.py
[ "$(warnings "is no record of a good run (it is no JSON): passing it over")" = 1 ] || fail "not one warning"
says_not err "since it worked"
sed -i 's#run-record/1#run-record/2#' "$(record other.py)"
run 4 --log-dir "$logs" other.py
[ "$(warnings "its schema is 'ddprun.run-record/2'")" = 1 ] || fail "not one warning of a later version"

# --- A record that cannot be written is one warning; a folder is in its place, as root may write anywhere ---
file=$(record fine.py)
rm "$file"
mkdir "$file"
CODE=0 run 0 --log-dir "$logs" fine.py
[ "$(warnings "no record of this run: cannot write $file")" = 1 ] || fail "not one warning of an unwritable record"
[ -z "$(find "$logs" -name '*.tmp')" ] || fail "half a record is left"
rmdir "$file"

# --- An option turns it off, and without a folder of logs there is none ---
CODE=0 run 0 --log-dir "$logs" --no-run-record fine.py
[ ! -e "$file" ] || fail "--no-run-record has left a record"
CODE=0 run 0 fine.py
[ -z "$(find "$scratch" -name '.last-good-run*' -not -path "$logs/*")" ] || fail "a record outside of the folder of logs"
nothing_left

# --- Two nodes that share the folder: one of them keeps the record, with both hosts, and tells what has changed ---
port=$(own_port)
script pair.py "import os, sys; sys.exit(int(os.environ['CODE']) if os.environ['RANK'] == '1' else 0)"
pair() { # CODE LOGS
  CODE=$1 "$DDPRUN" --nnodes 2 --node-rank 1 --master-addr 127.0.0.1 --master-port "$port" --log-dir "$2" pair.py \
    >"$scratch/out.1" 2>"$scratch/err.1" </dev/null &
  other=$!
  CODE=$1 run "$1" --nnodes 2 --node-rank 0 --master-addr 127.0.0.1 --master-port "$port" --log-dir "$2" pair.py
  wait "$other" || [ "$1" != 0 ] || fail "the second node: $(cat "$scratch/err.1")"
}
pair 0 "$scratch/shared"
[ "$(find "$scratch/shared" -name '.last-good-run*' | wc -l)" = 1 ] || fail "not one record of two nodes"
grep -A 1 '"hosts": \[' "$scratch"/shared/.last-good-run.pair.py.*.json | grep -q "\"$(uname -n)\"" ||
  fail "the record does not name the nodes: $(cat "$scratch"/shared/.last-good-run.*)"
pair 3 "$scratch/shared"
says err "nothing that ddprun records has changed since it worked"
! grep -q "since it worked" "$scratch/err.1" || fail "both nodes tell what has changed"
