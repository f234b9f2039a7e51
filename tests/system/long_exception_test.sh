#!/usr/bin/env bash
# However much a worker records of its end, and whatever characters are in it: its failure is reported once,
# with its exit code, and the terminal takes no orders from it.
. "$(dirname "$0")/lib.sh"

# record CHARACTER TIMES: what a worker writes down that ends with an exception of such a text.
record() {
  python3 - "$@" >"$scratch/record" <<'PY'
import json, sys
text = "ValueError: " + sys.argv[1] * int(sys.argv[2])
print(json.dumps({"message": {"message": text, "extraInfo": {"py_callstack": "Traceback:\n" + text + "end"}}}))
PY
}
export scratch
# shellcheck disable=SC2016 # the worker's own variables
worker='cat "$scratch/record" >"$TORCHELASTIC_ERROR_FILE"; echo "$RANK" >>"$scratch/started"; exit 3'
# fails_once TEXT...: the worker fails; the report has these texts, and the job ends by itself.
fails_once() {
  local restarts text
  for restarts in 0 1; do
    rm -f "$scratch/started"
    run 3 --max-restarts "$restarts" --no-python sh -c "$worker"
    [ "$(wc -l <"$scratch/started")" = $((restarts + 1)) ] || fail "it ran $(wc -l <"$scratch/started") times"
    for text in "the job failed: rank 0" "$@"; do says err "$text"; done
    ! grep -q $'\e' "$scratch/err" || fail "the report gives orders to the terminal"
    [ "$(wc -c <"$scratch/err")" -lt 200000 ] || fail "the report has $(wc -c <"$scratch/err") bytes"
  done
}
for characters in "x 300000" $'\e 60000' "🙂 40000"; do
  # shellcheck disable=SC2086 # two words
  record $characters
  fails_once "ValueError: " "…"
done
record x 2000000
fails_once "the record is longer than 1 MiB: look into its file"
rm -r "$TMPDIR"/ddprun_* # the records stay
nothing_left
