#!/usr/bin/env bash
# In an instance of Flux ddprun starts itself on all nodes by flux run. A stand-in for flux answers as the
# real one does, and starts the tasks of two nodes on this machine.
. "$(dirname "$0")/lib.sh"

mkdir "$scratch/bin"
cat >"$scratch/bin/flux" <<'SH'
#!/usr/bin/env bash
case "$*" in
  "getattr instance-level") echo 1 ;;
  "getattr size") echo 2 ;;
  "job info fABC R") echo '{"version":1,"execution":{"R_lite":[{"rank":"0-1"}],"nodelist":["localhost,localhost"]}}' ;;
  "run --nodes=2 --tasks-per-node=1 --exclusive "*)
    while [[ $1 == run || $1 == -* ]]; do shift; done
    export FLUX_JOB_ID=fABC FLUX_JOB_SIZE=2 FLUX_JOB_NNODES=2
    FLUX_TASK_RANK=1 "$@" &
    second=$!
    trap 'kill -TERM "$first" "$second"' TERM
    FLUX_TASK_RANK=0 "$@" &
    first=$! code=0
    for task in "$first" "$second"; do
      wait "$task" && ended=0 || ended=$?
      while kill -0 "$task" 2>/dev/null; do wait "$task" && ended=0 || ended=$?; done # a signal came before
      [ "$ended" -le "$code" ] || code=$ended
    done
    exit "$code"
    ;;
  *) echo "unexpected: flux $*" >&2 && exit 64 ;;
esac
SH
chmod +x "$scratch/bin/flux"
export PATH=$scratch/bin:$PATH FLUX_URI=local:///run/flux/local

run 0 --nproc-per-node 2 --no-python sh -c 'echo "rank $RANK of $WORLD_SIZE, node $GROUP_RANK, run $TORCHELASTIC_RUN_ID"'
for rank in 0 1 2 3; do says out "rank $rank of 4, node $((rank / 2)), run fABC"; done
says err "Flux instance: starting on 2 nodes by flux run"
says_not err "there is no secret"

run 5 --no-python sh -c '[ "$RANK" = 0 ] || exit 5; exec sleep 1000'
run 2 --nnodes 3 --no-python true
says err "Flux instance has 2 nodes"
run 0 --no-cluster --no-python sh -c '[ "$WORLD_SIZE" = 1 ]'

mark_processes
watch_lives
start --no-python sh -c 'exec 9>"$alive"; echo here >"$ready"; exec sleep 1000'
wait_ready 2
kill -s TERM "$pid"
ends 143
all_dead
no_process_left SIGTERM
nothing_left
