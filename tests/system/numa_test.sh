#!/usr/bin/env bash
# --numa-binding gives workers CPUs and memory, without any numactl program.
. "$(dirname "$0")/lib.sh"

[ -r /sys/devices/system/cpu/cpu0/topology/core_id ] || skip "sysfs does not describe the CPUs"
cat >"$scratch/worker.sh" <<'SH'
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
memory=$(head -n 1 /proc/self/numa_maps 2>/dev/null | cut -d ' ' -f 2-3)
echo "rank $RANK cpus $cpus memory $memory"
SH
all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)

for kind in node socket core-complex exclusive; do
  run 0 --numa-binding "$kind" --no-python sh "$scratch/worker.sh"
  says out "rank 0 cpus "
  says_not out "memory default"
done
run 0 --no-python sh "$scratch/worker.sh"
says out "rank 0 cpus $all memory"

# Exclusive workers share no CPU; what is shown beforehand is what they get.
cores=$(cat /sys/devices/system/cpu/cpu*/topology/core_cpus_list | sort -u | wc -l)
if [ "$cores" -ge 2 ] && [ "$(nproc)" -ge 2 ]; then
  run 0 --nproc-per-node 2 --numa-binding exclusive --no-python sh "$scratch/worker.sh"
  first=$(sed -n 's/^rank 0 cpus \([^ ]*\) .*/\1/p' "$scratch/out")
  second=$(sed -n 's/^rank 1 cpus \([^ ]*\) .*/\1/p' "$scratch/out")
  [ "${first:-none}" != "${second:-none}" ] || fail "both workers have CPUs $first"
  run 0 --nproc-per-node 2 --numa-binding exclusive --dry-run --no-python true
  says out "# rank 0, CPUs $first,"
fi
run 2 --nproc-per-node 5000 --numa-binding exclusive --no-python true
says err "too few for its"
nothing_left
