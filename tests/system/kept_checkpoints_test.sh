#!/usr/bin/env bash
# --checkpoints keeps what any program saves: in memory while its workers run, on disk beside that, and whole where a
# worker was killed in the midst of a save. The program knows nothing of it.
. "$(dirname "$0")/lib.sh"

program=$(dirname "$(realpath "$0")")/programs/saves.py
export OUT=out STEPS=3 LOGLEVEL=INFO next=$scratch/next PYTHON_EXEC=python3
mkfifo "$next.0" "$next.1"
place=
trap 'rm -rf "$place"; clean_up' EXIT
mkdir "$scratch/work"
cd "$scratch/work" || exit
disk=$scratch/disk

# keep ARGUMENTS...: two workers that save, in the background.
keep() { start --nproc-per-node 2 --checkpoints "out=$disk" "$@" "$program"; }
# begun N: both ranks have found checkpoint-N, and wait.
begun() { for rank in 0 1; do wait_for_line "rank $rank begins at $1"; done; }
# save: both ranks save once more. Each waits for its line.
save() {
  echo >"$next.0"
  echo >"$next.1"
}
# kept N: checkpoint-N is in memory; stored N: it is on disk.
kept() { wait_for_message "checkpoint-$1 \(.*\) is in memory"; }
stored() { wait_for_message "checkpoint-$1 \(.*\) is on disk"; }
# has FOLDER NAMES...: these files and folders are in it, and nothing else.
has() {
  local there
  there=$(find "$1/" -mindepth 1 -not -path '*/.ddprun*' -printf '%P\n' | sort | tr '\n' ' ')
  [ "$there" = "${*:2} " ] || fail "$1 has $there, expected ${*:2}"
}
of() { echo "checkpoint-$1 checkpoint-$1/rank_0.bin checkpoint-$1/rank_1.bin"; }
# cleaned: the guardian of a killed ddprun has done its work.
has_cleaned() { (nothing_left); }
cleaned() { until_true 60 "the guardian of a killed ddprun" has_cleaned; }
left_nothing() {
  [ "$(readlink out)" = "$disk" ] || fail "out does not lead to the folder on disk: $(ls -l out)"
  [ ! -e "$place" ] || fail "left in memory: $place"
  nothing_left
}

# A rank is killed in the midst of the second save: all go on from the first one, and nothing of the second is left.
KILLED_AT=2 keep --max-restarts 1 --report-file "$scratch/report.json"
begun 0
save
kept 1
place=$(dirname "$(readlink "$scratch/work/out")")
[ "$(stat -c %a "$place")" = 700 ] || fail "others may read the checkpoints in memory"
stored 1
save
wait_for_message "workers continue from checkpoint-1, from memory"
begun 1
save
kept 2
save
ends 0
# shellcheck disable=SC2046
has "$disk" $(of 1) $(of 2) $(of 3) train.log
left_nothing
"$DDPRUN" explain "$scratch/report.json" >"$scratch/explained" || fail "no report can be explained"
grep -qx "round 2 continued from checkpoint-1, from memory" "$scratch/explained" ||
  fail "the report does not say from which checkpoint: $(cat "$scratch/explained")"

# The next run begins with what is on disk. SIGKILL ends ddprun: what is in memory stays there.
export STEPS=5
keep
wait_for_message "workers continue from checkpoint-3, with .* from disk"
begun 3
save
kept 4
kill -KILL "$pid"
ends 137
cleaned
[ -e "$place" ] || fail "nothing is in memory"
rm -rf "$disk" # so it can come from memory alone
keep
wait_for_message "workers continue from checkpoint-4, from memory"
begun 4
save
ends 0
# shellcheck disable=SC2046
has "$disk" $(of 1) $(of 2) $(of 3) $(of 4) $(of 5) train.log
left_nothing

# What workers save when they are asked to end counts, as all of them end well.
export STEPS=9
ON_TERM=save keep --report-file "$scratch/report.json"
begun 5
kill -TERM "$pid"
ends 143
"$DDPRUN" explain "$scratch/report.json" >"$scratch/explained" || fail "no report can be explained"
grep -qx "round 1 continued from checkpoint-5, with .* from disk" "$scratch/explained" ||
  fail "the report does not say from which checkpoint the job began: $(cat "$scratch/explained")"
[ -s "$disk/checkpoint-99/rank_1.bin" ] || fail "the last checkpoint is lost: $(find "$disk")"
left_nothing

# Two jobs do not share a folder on disk, and no folder of the user's is taken.
refused() { # CODE SENTENCE ARGUMENTS...
  run "$1" --nproc-per-node 1 "${@:3}" --no-python true
  says err "$2"
}
mkdir full
touch full/model.bin
refused 2 "'$scratch/work/full' has files" --checkpoints "full=$disk"
ln -s full elsewhere
refused 2 "is a link to 'full'" --checkpoints "elsewhere=$disk"
refused 2 "one in the other" --checkpoints "$disk/out=$disk"
refused 2 "expected the program's folder and one on disk" --checkpoints out
[ "$(ls full)" = model.bin ] || fail "a refused folder has changed"
rm -rf "$disk"
keep
begun 0
refused 71 "another job keeps its checkpoints in '$disk'" --checkpoints "other=$disk"
kill -KILL "$pid"
ends 137
cleaned
rm -rf "$place" # of a run that nobody goes on with
