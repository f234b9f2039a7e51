#!/usr/bin/env bash
# ddprun topo draws this machine, and says where a job's workers will be.
. "$(dirname "$0")/lib.sh"

[ -r /sys/devices/system/cpu/cpu0/topology/core_id ] || skip "sysfs does not describe the CPUs"
run 0 topo
says out "machine: "
says out "--nproc-per-node 1 --numa-binding node puts"
says_not out $'\x1b'
run 0 topo --help
says out "nvidia-smi topo -m"

# A worker's CPUs are those that were foretold.
for kind in node exclusive core-complex; do
  run 0 topo --json --numa-binding "$kind"
  foretold=$(grep -o '"workers":\[{"cpus":"[^"]*"' "$scratch/out" | cut -d '"' -f 6)
  run 0 --numa-binding "$kind" --no-python sed -n 's/^Cpus_allowed_list:[[:space:]]*/seen /p' /proc/self/status
  says out "seen ${foretold:-nothing was foretold}"
done

run 2 topo --nproc-per-node none
says err "--nproc-per-node 'none'"
run 2 topo --nproc-per-node 5000 --numa-binding exclusive
says err "too few for its"
