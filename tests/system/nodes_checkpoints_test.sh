#!/usr/bin/env bash
# --checkpoints on several nodes, each with a memory of its own: what one of them saves is there on all of them when
# workers are restarted, also when a node is lost, when the node that coordinates is lost, in another job on fewer
# nodes, when the disk takes nothing, and when a checkpoint fails each time that it is loaded.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
program=$(realpath "$(dirname "$0")")/programs/saves.py
export OUT=$scratch/work/out STEPS=4 LOGLEVEL=INFO next=$scratch/next PYTHON_EXEC=python3
mkfifo "$next".{0,1,2}
disk=$scratch/disk
mkdir "$scratch/work"
for host in h1 h2 h3 h4; do
  mkdir "$scratch/memory_$host"
  on "$host" mount -t tmpfs none /dev/shm 2>"$scratch/why" || skip "no tmpfs can be mounted here: $(cat "$scratch/why")"
done

keep_on() { # HOST ARGUMENTS...
  start_on "$1" "$1" --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint "$endpoint" --rdzv-id job \
    --max-restarts 3 --checkpoints "$OUT=$disk" "${@:2}" "$program"
}
# begun N HOST...: the ranks on these hosts have found checkpoint-N, with the files of all three ranks.
begun() {
  local host
  for host in "${@:2}"; do node "$host" wait_for_line "begins at $1 with 3 files"; done
}
# save: all three ranks save once more. Each waits for its line.
save() { for rank in 0 1 2; do echo >"$next.$rank"; done; }
stored() { node "$2" wait_for_message "checkpoint-$1 \(.*\) is on disk"; } # N HOST
left_nothing_on() {
  local host
  for host; do
    [ -z "$(on "$host" find /dev/shm -type f)" ] || fail "left in the memory of $host: $(on "$host" find /dev/shm)"
  done
}
endpoint=h1:29400

# A rank is killed in the midst of the second save: all continue from the first one, of which each finds all.
for host in h1 h2 h3; do KILLED_AT=2 keep_on "$host" --nnodes 3; done
for host in h1 h2 h3; do node "$host" wait_for_line "begins at 0"; done
save
stored 1 h1
keep_on h4 --nnodes 3
node h4 wait_for_message "waits as a spare"
save
begun 1 h1 h2 h3
for host in h1 h2 h3; do
  [ -z "$(on "$host" find "$OUT/" -name 'checkpoint-2*')" ] || fail "half of a save is left on $host"
done

# A node is lost, and a spare takes its place. It has never seen the checkpoint.
save
stored 2 h1
kill -KILL "${agents[h3]}"
node h3 ends 137
begun 2 h1 h2 h4

# So it is when the node is lost that coordinates, and there is nobody else for its place.
save
stored 3 h2
kill -KILL "${agents[h1]}"
node h1 ends 137
nothing_on h1
keep_on h1 --nnodes 3
begun 3 h1 h2 h4
save
for host in h1 h2 h4; do
  node "$host" ends 0
  node "$host" says_not err "restart 2 of"
done
left_nothing_on h1 h2 h4
[ "$(readlink "$OUT")" = "$disk" ] || fail "out does not lead to the folder on disk: $(ls -l "$OUT")"
for step in 1 2 3 4; do
  [ "$(cd "$disk/checkpoint-$step" && echo ./*)" = "./rank_0.bin ./rank_1.bin ./rank_2.bin" ] ||
    fail "on disk: $(find "$disk")"
done

# Another job has fewer nodes.
endpoint=h2:29400
for host in h2 h4; do keep_on "$host" --nnodes 2; done
begun 4 h2 h4
for host in h2 h4; do node "$host" ends 0; done
left_nothing_on h2 h4

# The disk takes nothing. What a lost node has saved comes from the memory of another one, encrypted.
DDPRUN_SECRET=$(head -c 32 /dev/urandom | base64)
export DDPRUN_SECRET
endpoint=h1:29400
rm "$OUT"
disk=$scratch/broken
export STEPS=2
for host in h1 h2 h3; do keep_on "$host" --nnodes 3; done
for host in h1 h2 h3; do node "$host" wait_for_line "begins at 0"; done
keep_on h4 --nnodes 3
node h4 wait_for_message "waits as a spare"
rm -r "$disk/.ddprun"
: >"$disk/.ddprun"
save
for host in h1 h2 h3; do node "$host" wait_for_message "a copy of another node's checkpoint-1 \(.*\) is in memory"; done
kill -KILL "${agents[h3]}"
node h3 ends 137
begun 1 h1 h2 h4
for host in h1 h2 h4; do node "$host" says err "workers continue from checkpoint-1, from memory"; done
rm "$disk/.ddprun"
save
for host in h1 h2 h4; do node "$host" ends 0; done
left_nothing_on h1 h2 h4

# A checkpoint that fails alike each time that it is loaded gives way to the one before it, though it is on disk.
rm "$OUT"
disk=$scratch/failing program=${program%/*}/nan.py
PYTHONPATH=$(realpath "${program%/*}/../../../worker_sdk/python")
export PYTHONPATH HEARTBEAT=1 STEPS=15
mkfifo "$next" "$next.end"
for host in h1 h2; do keep_on "$host" --nnodes 2; done
for step in 5 10; do
  stored "$step" h1
  echo >"$next"
done
for host in h1 h2; do
  node "$host" wait_for_message "workers continue from checkpoint-5, from memory \(checkpoint-10 failed alike"
done
echo >"$next"
stored 15 h1
echo >"$next"
for host in h1 h2; do node "$host" ends 0; done
[ "$(grep -c "begins at 10" "$nodes/h1/out")" = 2 ] || fail "checkpoint-10 was not loaded twice"
grep -q "^\[0.*, 0.1\]$" "$disk/checkpoint-10/state.json" || fail "on disk: $(cat "$disk"/checkpoint-*/state.json)"
left_nothing_on h1 h2
