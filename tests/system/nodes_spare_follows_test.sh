#!/usr/bin/env bash
# A spare follows the successor of a lost coordinator: the next round has it in the place of
# the lost node, and there is no smaller one on the way. It is so when the number of nodes is fixed,
# when it is a range, and when the coordinator's machine hangs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4
cat >"$scratch/says_world.sh" <<'SH'
echo "$(uname -n) $RANK $WORLD_SIZE $$" >"$ready"
exec sleep 600
SH

# one_round HOST...: the next workers are those of one round of these hosts.
one_round() {
  local host size
  for _; do
    read -r -t 60 -u 7 host _ size _ || fail "for 60 s no worker began"
    [ "$size" = $# ] || fail "a worker on $host is in a world of $size, not of $#"
    case " $* " in *" $host "*) ;; *) fail "a worker began on $host" ;; esac
  done
}

# A node that was killed is known to be gone at once. Only one that hangs has to be silent for that many seconds, and no
# other node is to be silent for that time on a busy machine.
for how in "KILL 3 60" "KILL 2:3 60" "freeze 2:3 6"; do
  read -r how count seconds <<<"$how"
  job=$how-${count/:/-}
  for host in h1 h2 h3 h4; do
    start_on "$host" "$host" --nnodes "$count" --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id "$job" \
      --rdzv-conf "heartbeat_timeout=$seconds" --no-python sh "$scratch/says_world.sh"
    [ "$host" != h3 ] || one_round h1 h2 h3
  done
  node h4 wait_for_message "round 1 has its 3 nodes: this one waits as a spare"
  if [ "$how" = freeze ]; then freeze h1; else kill -KILL "${agents[h1]}"; fi
  one_round h2 h3 h4
  [ "$how" != freeze ] || thaw h1
  for host in h1 h2 h3 h4; do
    kill -KILL "${agents[$host]}" 2>/dev/null || true
    wait "${agents[$host]}" || true
    nothing_on "$host"
  done
  while read -r -t 0 -u 7; do read -r -u 7 _; done # a node that woke up may have joined again
done
