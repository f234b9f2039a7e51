#!/usr/bin/env bash
# An epoch that is interrupted twice, and goes on with 4, 2 and 3 workers, sees every sample exactly
# once. `ddprun checkpoint` then lists the checkpoints, and finds the damaged one.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DDPRUN")/epoch_worker
[ -x "$worker" ] || skip "built without the worker SDK: there is no epoch_worker"

# epoch WORKERS RUN DIE_AFTER: goes on with the epoch of 1,001 samples.
epoch() { printf '%s\n' --standalone --nproc-per-node "$1" --no-python "$worker" "$scratch" "$2" 1001 "$3"; }

mapfile -t words < <(epoch 4 1 20)
run 137 "${words[@]}"
says err "last heartbeat: step 20, loss 0.25, "
mapfile -t words < <(epoch 2 2 30)
run 137 "${words[@]}"
says err "last heartbeat: step 50, loss 0.25, "
mapfile -t words < <(epoch 3 3 1000)
run 0 "${words[@]}"
[ "$(cat "$scratch/begun.2" "$scratch/begun.3")" = $'20\n50' ] || fail "it went on elsewhere"

sort -n -k 2 "$scratch"/used.* | awk '{ print $2 }' >"$scratch/seen"
seq 0 1000 >"$scratch/all"
cmp "$scratch/seen" "$scratch/all" || fail "not every sample was seen exactly once"

checkpoints=$scratch/checkpoints
run 0 checkpoint ls "$checkpoints"
grep -qE '^ +87 +0 +3 +[0-9]+ s +[0-9.]+ kB +complete$' "$scratch/out" || fail "step 87 is not listed"
[ "$(wc -l <"$scratch/out")" = 4 ] || fail "not three checkpoints are listed"
run 0 checkpoint verify "$checkpoints"
says out "all files of 3 checkpoints have their SHA-256"
run 0 checkpoint verify "$checkpoints/checkpoint-000000000087"

model=$checkpoints/checkpoint-000000000087/model.safetensors
printf '\xff' | dd of="$model" bs=1 seek=$(($(stat -c %s "$model") - 1)) conv=notrunc status=none
mkdir "$checkpoints/.checkpoint-000000000088.1-2-3-0.tmp"
run 1 checkpoint verify "$checkpoints"
says out "checkpoint-000000000087: damaged: model.safetensors has the SHA-256"
says err "1 of 3 checkpoints in '$checkpoints' cannot be used"
rm "$model"
run 0 checkpoint ls "$checkpoints"
says out "incomplete: model.safetensors cannot be read"
says out "incomplete: it is being written, or was left unfinished"

run 1 checkpoint verify "$scratch/nowhere"
says err "cannot read '$scratch/nowhere': No such file or directory"
mkdir "$scratch/empty"
run 0 checkpoint ls "$scratch/empty"
says out "there is no checkpoint in"
run 1 checkpoint verify "$scratch/empty"
run 2 checkpoint
run 2 checkpoint ls
run 0 checkpoint --help
says out "verify"
