#!/usr/bin/env bash
# Every byte that workers write arrives, whole lines are not mixed, and a slow reader loses nothing.
. "$(dirname "$0")/lib.sh"

# Bytes of all kinds arrive, without a newline at the end, and standard output and error stay apart.
head -c 3000000 /dev/urandom >"$scratch/bytes"
export scratch
run 0 --no-python sh -c 'cat "$scratch/bytes"; printf "no newline" >&2'
cmp "$scratch/bytes" "$scratch/out" || fail "binary output was changed"
[ "$(cat "$scratch/err")" = "no newline" ] || fail "an unfinished last line was lost"

# Lines of different workers stay whole.
run 0 --standalone --nproc-per-node 4 --no-python \
  sh -c 'for i in $(seq 5000); do echo "rank $RANK line $i of many"; done'
[ "$(grep -cE '^rank [0-3] line [0-9]+ of many$' "$scratch/out")" = 20000 ] || fail "lines were mixed"

# Output written right before a crash is there, before the report about the crash.
run 137 --no-python sh -c 'echo final >&2; kill -KILL $$'
[ "$(head -n 1 "$scratch/err")" = final ] || fail "the report came before the worker's last words"

# A reader that takes its time gets everything; one that goes away stops nobody.
"$DDPRUN" --standalone --nproc-per-node 2 --no-python \
  sh -c 'head -c 8000000 /dev/zero | tr "\0" x; echo' |
  { read -r -n 1 _; cat; } | wc -c >"$scratch/count"
[ "$(cat "$scratch/count")" -ge 16000000 ] || fail "a slow reader lost output: $(cat "$scratch/count")"
"$DDPRUN" --standalone --no-python sh -c 'yes | head -n 200000; echo end >"$scratch/end"' | head -n 1 >/dev/null
[ -e "$scratch/end" ] || fail "a worker did not survive that nobody read its output"

# An unfinished line (a prompt) is shown while the worker waits.
mkfifo "$scratch/answer" "$scratch/prompt"
"$DDPRUN" --standalone --no-python sh -c 'printf "name? "; read -r name <"$scratch/answer"; echo "hello $name"' \
  >"$scratch/prompt" &
exec 6<"$scratch/prompt"
read -r -N 6 -t 60 -u 6 prompt || fail "the prompt did not come"
[ "$prompt" = "name? " ] || fail "the prompt was '$prompt'"
echo ddprun >"$scratch/answer"
[ "$(cat <&6)" = "hello ddprun" ] || fail "no answer after the prompt"
nothing_left
