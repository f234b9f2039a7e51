#!/usr/bin/env bash
# Two nodes and a spare: whichever of the three is killed, frozen or cut off, the job goes on, because the spare
# votes. With another spare it does so once more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 3
start_node() { # HOST JOB
  start_on "$1" "$1" --nnodes 2 --max-restarts 0 --rdzv-backend c10d --rdzv-id "$2" --rdzv-endpoint h1:29400 \
    --rdzv-conf heartbeat_timeout=2 --no-python sh "$worker"
}
start_job() { # JOB
  local host
  for host in h1 h2; do start_node "$host" "$1"; done
  wait_for_world h1 h2
  start_node h3 "$1"
  spare_votes h1 h3
}
spare_votes() { # HOST SPARE: the host coordinates
  until_true 60 "$2 to vote" votes_at "$1" "$2"
}
votes_at() { grep -q "$2 *spare .* votes" < <(on "$1" "$DDPRUN" status "${agents[$1]}" 2>/dev/null); }
end_job() { # HOST...: they have its workers
  let_go
  end_well "$@"
}
old_world_is_gone() {
  local pid
  for pid in "${old[@]}"; do
    [ ! -e "/proc/$pid" ] || fail "a worker of the old world is alive in the new one"
  done
}

# One after the other is killed, and started again as the spare.
start_job killed
kill -KILL "${agents[h1]}"
node h1 ends 137
wait_for_world h2 h3
nothing_on h1
start_node h1 killed
spare_votes h2 h1
kill -KILL "${agents[h2]}"
node h2 ends 137
wait_for_world h1 h3
start_node h2 killed
spare_votes h3 h2
old=("${worker_pids[@]}")
kill -KILL "${agents[h2]}"
node h2 ends 137
until_true 60 "the job to be without a spare" eval '! votes_at h3 h2'
start_node h2 killed
spare_votes h3 h2
are_alive "${old[@]}" || fail "a worker was stopped because of a spare"
end_job h1 h3
node h2 ends 0
node h3 says_not err "restart 1 of"

for how in "freeze thaw" "cut_off heal"; do
  read -r harm mend <<<"$how"
  for hosts in "h1 h2" "h2 h1"; do # the one that is lost, and the one that coordinates then
    read -r host other <<<"$hosts"
    start_job "$harm-$host"
    old=("$(pid_on "$host")")
    "$harm" "$host"
    wait_for_world "$other" h3
    [ "$harm" = freeze ] || old_world_is_gone
    "$mend" "$host"
    spare_votes "$other" "$host"
    end_job h1 h2 h3
  done
  start_job "$harm-h3"
  old=("${worker_pids[@]}")
  "$harm" h3
  until_true 60 "the job to be without its spare" eval '! votes_at h1 h3'
  "$mend" h3
  spare_votes h1 h3
  are_alive "${old[@]}" || fail "a worker was stopped because of a spare"
  end_job h1 h2 h3
done

# Two of the three at once are too many: the third one cannot know whether they go on.
start_job both
freeze h1
freeze h3
node h2 wait_for_message "lost the coordinator .*: stopping the workers of this node"
gone "$(pid_on h2)"
thaw h3
wait_for_world h2 h3
thaw h1
spare_votes h2 h1
end_job h1 h2 h3
