#!/usr/bin/env bash
# However long the text is that a failing worker leaves, its failure ends the job and is told.
. "$(dirname "$0")/lib.sh"

# The worker records an exception of 300 kB, in letters and in control characters, and exits.
cat >"$scratch/worker.sh" <<'SH'
echo run >>"$runs"
{
  printf '{"message": {"message": "ValueError: the first words '
  head -c 300000 /dev/zero | tr '\0' x
  printf '", "extraInfo": {"py_callstack": "'
  i=0
  while [ "$i" -lt 5000 ]; do
    printf '\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001'
    i=$((i + 1))
  done
  printf ' the last words"}}}'
} >"$TORCHELASTIC_ERROR_FILE"
exit 3
SH
export runs=$scratch/runs
run 3 --standalone --max-restarts 0 --no-python sh "$scratch/worker.sh"
says err "the job failed: rank 0"
says err "ValueError: the first words"
says err "the last words"
[ "$(wc -l <"$runs")" = 1 ] || fail "the worker ran $(wc -l <"$runs") times"
