#!/usr/bin/env bash
# Under `mpirun -N 1` nodes and ranks are Open MPI's, on one node and on several.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

[ -n "$(command -v mpirun)" ] || skip "there is no mpirun (Debian: openmpi-bin)"
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
need_hosts 3

# What mpirun starts its daemons with in place of ssh: `agent HOST COMMAND`.
{
  echo '#!/bin/bash'
  declare -p keepers
  # shellcheck disable=SC2016
  echo 'exec nsenter --target "${keepers[$1]}" --net --uts --mount -- bash -c "${*:2}"'
} >"$scratch/agent"
chmod +x "$scratch/agent"
mpirun_on() { # HOST WORD...
  on "$1" timeout 120 mpirun --allow-run-as-root --mca plm_rsh_agent "$scratch/agent" \
    --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 "${@:2}" \
    >"$scratch/out" 2>"$scratch/err" </dev/null
}

# shellcheck disable=SC2016
say='echo "$(uname -n) is rank $RANK of $WORLD_SIZE"'
mpirun_on h1 -N 1 -H h1,h2,h3 "$DDPRUN" --nproc-per-node 2 --no-python sh -c "$say" ||
  fail "mpirun on three nodes"
for i in 1 2 3; do
  says out "h$i is rank $((2 * i - 2)) of 6"
  says out "h$i is rank $((2 * i - 1)) of 6"
done
# Before Open MPI 5, mpirun tells its address.
grep -qE "Open MPI: node 0 of 3, coordinator at (10.77.0.1|h1):" "$scratch/err" || fail "they do not meet beside mpirun"

mpirun_on h2 -N 1 -H h2 "$DDPRUN" --nproc-per-node 2 --no-python sh -c "$say" || fail "one node"
says out "h2 is rank 1 of 2"

if mpirun_on h1 -N 2 -H h1:2 "$DDPRUN" --no-python true; then fail "two ddprun on one node"; fi
says err "mpirun has started 2 ddprun on this node"
