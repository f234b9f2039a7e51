#!/usr/bin/env bash
# The last release on one node and this build on the other make one job, whichever of them hosts the
# coordinator: docs/protocol.md has the rule. DDPRUN_RELEASED names another executable to try that with.
. "$(dirname "$0")/lib.sh"
here=$(realpath "$(dirname "$0")")

released=${DDPRUN_RELEASED:-}
if [ -z "$released" ]; then
  released=$("$here/../../packaging/release.sh" --path 2>"$scratch/why") || {
    code=$?
    [ "$code" = 77 ] || fail "$(cat "$scratch/why")"
    skip "$(cat "$scratch/why")"
  }
fi
released=$(realpath "$released")
. "$here/hosts.sh"
[ -n "$(command -v python3)" ] || skip "there is no python3"
PYTHON_EXEC=$(command -v python3)
export PYTHON_EXEC

need_hosts 2
this_build=$DDPRUN
echo "the release: $("$released" --version | head -n 1); this build: $("$this_build" --version | head -n 1)"

# pair COORDINATOR ARGUMENTS...: the first on h1, where the nodes meet, and the other one on h2.
pair() {
  local on_h1=$released on_h2=$this_build
  if [ "$1" = "$this_build" ]; then on_h1=$this_build on_h2=$released; fi
  DDPRUN=$on_h1 start_on h1 h1 "${meeting[@]}" "${@:2}"
  DDPRUN=$on_h2 start_on h2 h2 "${meeting[@]}" "${@:2}"
}
meeting=(--nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id job)
program=$here/programs/meet_in_store.py
"$this_build" secret >"$scratch/secret"

for coordinator in "$released" "$this_build"; do
  echo "the coordinator is ${coordinator##*/}"
  # Rank 3 fails once: its report and the restart cross the connection, and in the end so does the verdict.
  # The store is the coordinator's, the agents', and the agents' inside of TLS.
  for options in "--store leader" "--store local" "--secret-file $scratch/secret"; do
    # shellcheck disable=SC2086
    pair "$coordinator" --max-restarts 1 $options "$program" 1
    for host in h1 h2; do
      node "$host" ends 0
      for attempt in 0 1; do
        node "$host" says out "attempt $attempt, rank"
      done
      node "$host" says out ": ranks are on h"
    done
    node h1 says err "rank 3 exited with code 28"
  done

  # The last failure is every node's exit code.
  pair "$coordinator" "$program" 1
  for host in h1 h2; do
    node "$host" ends 28
  done
  node h1 says err "rank 3 (local rank 1 on host "

  # A node whose scheduler announces the end asks the workers of both for a checkpoint.
  # shellcheck disable=SC2016
  pair "$coordinator" --preempt-signal SIGTERM --no-python sh -c \
    'trap "echo saved; exit 0" USR1; sleep 1000 & echo "$RANK" >"$ready"; wait'
  wait_ready 4
  kill -TERM "${agents[h2]}"
  for host in h1 h2; do
    node "$host" ends 85
    node "$host" says out saved
  done
  nothing_on h1
  nothing_on h2
done

# Either takes the other one's jobs as a server, which outlives them.
for server in "$released" "$this_build"; do
  DDPRUN=$server start_on h1 server server --port 29500
  node server wait_for_line "listening on"
  meeting=(--nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint h1:29500 --rdzv-id job)
  pair "$this_build" --max-restarts 1 "$program" 1
  for host in h1 h2; do node "$host" ends 0; done
  kill -TERM "${agents[server]}"
  node server ends 0
done
