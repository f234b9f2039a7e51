# shellcheck shell=bash
# A training on three nodes of which one is killed, and another comes later. A test sources this file
# after hosts.sh.

join() { # HOST WORD...: runs the training that WORD... starts; its options are added here
  local data
  data=$(find "$DDPRUN_TORCH_ENV" -path '*/sklearn/datasets/data/digits.csv.gz' -print -quit)
  [ -n "$data" ] || skip "digits.csv.gz is not in $DDPRUN_TORCH_ENV"
  start_on "$1" "$1" --nnodes 2:3 --rdzv-backend c10d --rdzv-endpoint h1:29400 --rdzv-id training \
    "${@:2}" --data "$data" --epochs 24 --checkpoint-dir "${scratch:?}/checkpoints"
}

# train_through_changes WORD...: a node is killed, and another one comes.
train_through_changes() {
  local host rank_0
  need_hosts 4
  for host in h1 h2 h3; do join "$host" "$@"; done
  node h1 wait_for_line '^epoch 3/24 '
  kill -KILL "${agents[h3]:?}"
  node h3 ends 137
  nothing_on h3
  node h1 wait_for_line '^resumed at epoch '
  rank_0=$(node h1 worker_pid 0)
  node h1 wait_for_line "^epoch $(($(resumed_at) + 3))/24 "
  kill -STOP "$rank_0" # the training is not to end before the other node is there
  join h4 "$@"
  node h1 wait_for_message "node h4 joined"
  kill -CONT "$rank_0" 2>/dev/null || true
  for host in h1 h2 h4; do node "$host" ends 0; done

  node h1 says err "node h3 lost"
  node h1 says err "node h4 joined"
  [ "$(grep -c '^resumed at epoch [1-9]' "${nodes:?}/h1/out")" = 2 ] || fail "it did not resume twice"
  every_epoch_once 24
  is_accurate h1
}

# train_through_a_lost_head WORD...: the node that coordinates the job is killed, with rank 0 on it.
train_through_a_lost_head() {
  local host
  need_hosts 3
  for host in h1 h2 h3; do join "$host" "$@"; done
  node h1 wait_for_line '^epoch 3/24 '
  kill -KILL "${agents[h1]:?}"
  node h1 ends 137
  for host in h2 h3; do node "$host" ends 0; done
  node h2 says err "the coordinator is at 10.77.0.2:29400 now"
  # Rank 0 tells, and it is on another host now.
  grep '^epoch ' "${nodes:?}/h1/out" >"$nodes/told" || true
  cat "$nodes/h2/out" >>"$nodes/told"
  mv "$nodes/told" "$nodes/h1/out"
  every_epoch_once 24
  is_accurate h2
}

is_accurate() { # HOST
  awk -v a="$(sed -nE 's/^final test accuracy ([0-9.]+) %$/\1/p' "$nodes/$1/out")" \
    'BEGIN { exit !(a >= 95) }' || fail "its accuracy is below 95 %"
}

resumed_at() { sed -nE 's/^resumed at epoch ([0-9]+) .*/\1/p' "$nodes/h1/out" | tail -n 1; }

# every_epoch_once EPOCHS: the weights at the end have seen every epoch once. A resumed training goes on behind
# the last epoch that was reported; or behind the one before, when that was still being written in the
# background; or behind the next, when that was saved and its report came too late.
every_epoch_once() {
  awk -v epochs="$1" '
    /^resumed at epoch / { if ($4 < done - 1 || $4 > done + 1) exit 1; done = $4 }
    /^epoch / { split($2, part, "/"); if (part[1] != done + 1) exit 1; done = part[1] }
    END { exit done != epochs }' "$nodes/h1/out" || fail "an epoch is missing, or was done twice"
}
