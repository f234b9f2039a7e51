#!/usr/bin/env bash
# Coordinators are killed at random times, and often the next one soon after: while workers run, while one has
# failed, and while the job ends. The others go on and end alike, and nothing is left anywhere.
#
#     HEADS_KILLED=100 SEED=7 nodes_heads_killed_test.sh DDPRUN    as many jobs, from that seed on
. "$(dirname "$0")/lib.sh"
export seconds_left=$((500 + 10 * ${HEADS_KILLED:-4}))
. "$(dirname "$0")/hosts.sh"

need_hosts 5
RANDOM=${SEED:=1}
cat >"$scratch/short.sh" <<'SH'
echo "$(uname -n) $RANK $WORLD_SIZE $$" >"$ready"
sleep "$(awk -v s="$RANK$TORCHELASTIC_RESTART_COUNT$$" 'BEGIN { srand(s); print rand() * 0.3 }')"
SH
some_ms() { printf '0.%03d' $((RANDOM % $1)); } # MS: a random time below

for ((job = 1; job <= ${HEADS_KILLED:-4}; job++)); do
  for host in h1 h2 h3 h4 h5; do
    start_on "$host" "$host" --nnodes 2:5 --max-restarts 3 --rdzv-backend c10d --rdzv-endpoint h1:29400 \
      --rdzv-id "job$job" --nproc-per-node 2 --no-python sh "$scratch/short.sh"
  done
  wait_ready 10
  killed=(h1)
  sleep "$(some_ms 400)" # no wait for an event: the kill may come at any time
  kill -KILL "${agents[h1]}" 2>/dev/null || killed=()
  if [ $((RANDOM % 2)) = 0 ]; then
    sleep "$(some_ms 900)"
    if kill -KILL "${agents[h2]}" 2>/dev/null; then killed+=(h2); fi
  fi
  for host in h1 h2 h3 h4 h5; do
    code=0
    wait "${agents[$host]}" || code=$?
    case " ${killed[*]} " in
      *" $host "*) [ "$code" = 137 ] || [ "$code" = 0 ] || fail "job $job of seed $SEED: $host ends with $code" ;;
      *) [ "$code" = 0 ] || node "$host" fail "job $job of seed $SEED: $host ends with $code" ;;
    esac
    nothing_on "$host"
  done
  while read -r -t 0 -u 7; do read -r -u 7 _; done # what the workers have said
done
