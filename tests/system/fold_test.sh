#!/usr/bin/env bash
# --fold: what many workers say alike is on the terminal once, with their ranks, and a rank that says
# something else stands out. The files have every byte.
. "$(dirname "$0")/lib.sh"

logs=$scratch/logs
export scratch

# Equal lines that come at nearly the same time are shown as one. So workers write when all of them are there. One
# that a busy machine holds up even then is rightly shown apart, so that there are several tries.
export go=$scratch/go
mkfifo "$go"
exec 7<>"$ready" 8<>"$go"
# together STREAM WORKERS ARGUMENTS...: workers run the shell script that is the last argument, and what
# ddprun then writes to that stream (out or err) is $expected.
together() {
  local stream=$1 workers=$2
  shift 2
  for _ in 1 2 3 4 5; do
    start --nproc-per-node "$workers" --fold "${@:1:$#-1}" --no-python sh -c \
      "echo here >\"\$ready\"; read -r _ <\"\$go\"; ${*: -1}"
    wait_ready "$workers"
    printf "%${workers}s" | tr ' ' '\n' >&8
    ends 0
    [ "$(without_times "$scratch/$stream")" != "$expected" ] || return 0
  done
  fail "std$stream is not '$expected'"
}
without_times() { sed -E 's/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}[+-][0-9:]{5} /TIME /' "$1"; }

# --- Equal lines of many, with and without files ---
cat >"$scratch/many.sh" <<'SH'
seq -f 'loading shard %.0f' 3000
SH
run 0 --nproc-per-node 8 --fold --tee 3 --log-dir "$logs" --no-python sh "$scratch/many.sh"
sh "$scratch/many.sh" >"$scratch/expected"
for rank in 0 1 2 3 4 5 6 7; do
  cmp "$scratch/expected" "$logs"/*/attempt_0/$rank/stdout.log || fail "the file of rank $rank"
done
# However late a rank was: no line of it is there a second time.
grep -vE '\(the same (line|[0-9]+ lines) as others' "$scratch/out" | sed 's/^\[[0-9,-]*\] //' >"$scratch/shown"
cmp "$scratch/expected" "$scratch/shown" || fail "not each line once: $(wc -l <"$scratch/shown") lines"

# --- A rank that says something else; ranks, process ids, times and fractions may differ ---
expected='[0-3] rank 0-3 of 4, pid *, cuda:0-3
[0-3] loss 0.30..0.33
[0-3] step 1'
together out 4 '
  echo "rank $RANK of 4, pid $$, cuda:$LOCAL_RANK"
  echo "loss 0.3$RANK"
  if [ $RANK = 2 ]; then echo "disk is full" >&2; fi
  echo "step 1"'
[ "$(cat "$scratch/err")" = '[2] disk is full' ] || fail "the rank that stands out"

# --- One's own prefix, with lists of ranks, and times ---
expected='TIME <default 0-1>hello'
together out 2 --log-line-prefix-template '<${role_name} ${rank}>' --tee 3 --log-timestamps --log-dir "$logs" \
  'echo hello'

# --- What a worker said before it failed is there before ddprun speaks of its end ---
run 3 --nproc-per-node 2 --fold --no-python sh -c '
  [ $RANK = 1 ] || exec sleep 60
  echo "last words" >&2; exit 3'
[ "$(head -n 2 "$scratch/err")" = '[1] last words
ddprun: rank 1 exited with code 3: stopping all workers' ] || fail "the last words"

# --- Unfinished lines come out at the end ---
expected='[0-2] no newline'
together out 3 'printf "no newline"'
