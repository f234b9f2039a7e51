#!/usr/bin/env bash
# The workers' output gets the files and prefixes that torchrun gives it. Nothing of an earlier attempt
# is erased, no byte is lost, and no line holds the words of two workers.
. "$(dirname "$0")/lib.sh"

logs=$scratch/logs
export scratch

# files: prints the tree of log files below the only run's directory.
files() { (cd "$logs"/*/ && find . -type f | sort | tr '\n' ' '); }
# holds FILE TEXT: fails unless TEXT is all that is in the file.
holds() {
  local text
  text=$(cat "$logs"/*/"$1")
  [ "$text" = "$2" ] || fail "$1 holds '$text', expected '$2'"
}

# The first failure has the others stopped, so each waits until all have said their words.
cat >"$scratch/worker.sh" <<'SH'
echo "out $RANK"
echo "err $RANK" >&2
printf 'unfinished %s' "$RANK"
attempt=$TORCHELASTIC_RESTART_COUNT
touch "$scratch/said.$attempt.$RANK"
for rank in 0 1 2; do
  until [ -e "$scratch/said.$attempt.$rank" ]; do sleep 0.01; done
done
[ "$TORCHELASTIC_RESTART_COUNT" = 1 ]
SH

# --- Redirected, teed, by rank, over a restart ---
run 0 --nproc-per-node 3 --max-restarts 1 --rdzv-id my/job --log-dir "$logs" -r 0:3,1:1 -t 2:1 \
  --no-python sh "$scratch/worker.sh"
case $(ls "$logs") in my_job_??????) ;; *) fail "the run's directory is $(ls "$logs")" ;; esac
[ "$(files)" = "./attempt_0/0/stderr.log ./attempt_0/0/stdout.log ./attempt_0/1/stdout.log ./attempt_0/2/stdout.log ./attempt_1/0/stderr.log ./attempt_1/0/stdout.log ./attempt_1/1/stdout.log ./attempt_1/2/stdout.log ./report.json " ] ||
  fail "the files are $(files)"
holds attempt_0/0/stderr.log 'err 0'
holds attempt_1/1/stdout.log $'out 1\nunfinished 1'
says_not out 'out 0'
says_not out 'out 1'
says out '[default2]:out 2'
says out '[default2]:unfinished 2'
says err 'err 1'
says_not err 'err 0'
nothing_left

# --- Ranks of two digits, prefixes of one's own, ranks that are not shown ---
rm -r "$logs"
TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE='<${role_name} ${rank}/$local_rank> ' \
  run 0 --nproc-per-node 12 --role trainer --log-dir "$logs" -t 3 --local-ranks-filter 0,11 \
  --no-python sh -c 'echo "out $RANK"'
says out '<trainer 11/11> out 11'
says_not out 'out 5'
holds attempt_0/5/stdout.log 'out 5'

TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE='<$rank> ' run 0 --log-line-prefix-template '${hostname}:$rank ' \
  --log-dir "$logs" -t 3 --no-python sh -c 'echo "out $RANK"'
says out "$(uname -n):0 out 0"

# --- Filters ---
rm -r "$logs"
run 0 --nproc-per-node 2 --log-dir "$logs" -t 3 --duplicate-stdout-filters 'loss,a,,b' \
  --duplicate-stderr-filters warn --no-python \
  sh -c 'echo "loss $RANK"; echo other; echo "a,b"; echo warning >&2'
[ "$(sort "$logs"/*/attempt_0/filtered_stdout.log)" = "$(printf '%s\n' '[default0]:a,b' '[default0]:loss 0' '[default1]:a,b' '[default1]:loss 1')" ] ||
  fail "filtered_stdout.log holds $(cat "$logs"/*/attempt_0/filtered_stdout.log)"
[ "$(wc -l <"$(echo "$logs"/*/attempt_0/filtered_stderr.log)")" = 2 ] || fail "filtered_stderr.log"

# --- Bytes: binary, long lines, no newline at the end; lines of many stay whole ---
rm -r "$logs"
head -c 3000000 /dev/urandom >"$scratch/bytes"
run 0 --nproc-per-node 2 --log-dir "$logs" -t 1 -r 2 --no-python \
  sh -c 'cat "$scratch/bytes"; cat "$scratch/bytes" >&2'
for rank in 0 1; do
  for stream in stdout stderr; do
    cmp "$scratch/bytes" "$logs"/*/attempt_0/$rank/$stream.log || fail "bytes of $stream changed"
  done
done
run 0 --nproc-per-node 4 -t 3 --log-dir "$logs" --no-python sh -c \
  'for i in $(seq 2000); do echo "rank $RANK line $i of many"; printf "half "; echo "a line"; done'
[ "$(grep -cE '^\[default[0-3]\]:(rank [0-3] line [0-9]+ of many|half a line)$' "$scratch/out")" = 16000 ] ||
  fail "lines were mixed"

# --- The last lines of a worker that writes into a file by itself are in the report ---
run 3 --log-dir "$logs" -r 3 --no-python sh -c 'echo "disk is full" >&2; exit 3'
says err 'exited with code 3: disk is full'

# --- Where nothing was asked for, nothing is left; what was asked for stays, and is named ---
run 0 --nproc-per-node 2 --no-python true
nothing_left
run 0 -r 3 --no-python sh -c 'echo hello'
says err "log files are in $TMPDIR/ddprun_"
[ "$(cat "$TMPDIR"/ddprun_*/attempt_0/0/stdout.log)" = hello ] || fail "the log file in TMPDIR"
rm -r "$TMPDIR"/ddprun_*

# --- The null device: no files at all ---
run 0 --log-dir /dev/null -t 3 --no-python sh -c 'echo "[$TORCHELASTIC_ERROR_FILE]"'
[ "$(cat "$scratch/out")" = '[]' ] || fail "with --log-dir /dev/null: $(cat "$scratch/out")"
nothing_left

# --- An error says what cannot be written ---
touch "$scratch/file"
run 2 --log-dir "$scratch/file" --no-python true
says err "--log-dir: cannot make the directory '$scratch/file'"

# --- The error file that a report names is there to be read ---
run 3 --no-python sh -c 'echo "{\"message\": \"no luck\"}" >"$TORCHELASTIC_ERROR_FILE"; exit 3'
error_file=$(sed -nE 's/^ *error_file: //p' "$scratch/err")
grep -q 'no luck' "$error_file" || fail "the error file '$error_file' is gone"
rm -r "$TMPDIR"/ddprun_*
