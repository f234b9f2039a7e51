#!/usr/bin/env bash
# A control group has 1.2 times the memory that a program takes. Its checkpoints do not fit beside it: after the kernel
# has killed a worker for the first one, they go to disk.
. "$(dirname "$0")/lib.sh"
memory_counts || skip "a sanitizer takes memory, too"

group=
trap 'leave_group; clean_up; remove_group' EXIT
leave_group() { [ -z "$group" ] || echo $$ >"${group%/*}/cgroup.procs"; }
# A process that was killed is in its group until its end.
is_removed() { rmdir "$group" 2>/dev/null; }
remove_group() { [ -z "$group" ] || until_true 60 "the end of all in the test's control group" is_removed; }
for folder in /sys/fs/cgroup /sys/fs/cgroup/memory; do
  [ -e "$folder/cgroup.procs" ] || continue
  group=$folder/ddprun-test-$$
  if ! mkdir "$group" 2>"$scratch/why"; then group='' && continue; fi
  for limit in memory.max memory.limit_in_bytes; do
    if [ -e "$group/$limit" ] && echo 1500M >"$group/$limit"; then break 2; fi
  done
  rmdir "$group"
  group=
done
[ -n "$group" ] || skip "no control group can be given a limit here"

cat >"$scratch/holds.py" <<'END'
import os

held = os.urandom(1 << 20) * 1250
for step in 1, 2, 3:
    with open(os.environ["NEXT"]) as next_step:
        next_step.read()
    with open(f"out/step-{step}.pt", "wb") as file:
        file.write(held)
    print("there are", *sorted(os.listdir("out")), flush=True)
assert all(os.path.getsize(f"out/step-{step}.pt") == len(held) for step in (1, 2, 3))
END
export NEXT=$scratch/next PYTHON_EXEC=python3
mkfifo "$NEXT"
mkdir "$scratch/work"
cd "$scratch/work" || exit

echo $$ >"$group/cgroup.procs"
start --nproc-per-node 1 --max-restarts 1 --checkpoints "out=$scratch/disk" "$scratch/holds.py"
: >"$NEXT"
wait_for_message "checkpoints are written to '$scratch/disk' alone, not to memory: .* beside the workers .*memory.max"
for step in 1 2 3; do
  : >"$NEXT"
  wait_for_line "there are .*step-$step.pt"
done
ends 0
[ "$(readlink out)" = "$scratch/disk" ] || fail "out does not lead to the folder on disk: $(ls -l out)"
for step in 1 2 3; do [ -s "$scratch/disk/step-$step.pt" ] || fail "step-$step.pt is not on disk"; done
nothing_left
