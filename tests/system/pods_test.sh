#!/usr/bin/env bash
# Hosts that imitate the pods of docs/containers.md: those that Kubeflow Trainer makes, a JobSet of two pods
# with a witness, whose first pod is lost and comes back with another address, and a pod that is evicted.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 4

# A pod has its own name in its /etc/hosts, with the domain of its Service; the cluster's name server has the
# others', also under the short name.
declare -A addresses # by pod
make_pod() {         # HOST POD DOMAIN
  addresses[$2.$3]=10.77.0.${1#h}
  echo "10.77.0.${1#h} $2.$3.ml.svc.cluster.local $2" >"$scratch/own_$1"
  : >"$scratch/hosts_$1"
  on "$1" mount --bind "$scratch/hosts_$1" /etc/hosts
  on "$1" sh -c "echo $2 >/proc/sys/kernel/hostname"
}
publish_names() { # the name server knows from now on what there is
  local host pod
  for host in h1 h2 h3 h4; do
    [ -f "$scratch/own_$host" ] || continue
    {
      cat "$scratch/own_$host"
      for pod in "${!addresses[@]}"; do echo "${addresses[$pod]} $pod $pod.ml.svc.cluster.local"; done
    } >"$scratch/hosts_$host" # in place, because it is mounted
  done
}
ranks_are_on() { [ "${worker_hosts[*]}" = "$*" ] || fail "ranks are on ${worker_hosts[*]}"; }

# --- A TrainJob "digits" of two nodes. These are the variables that Trainer's policy `torch` sets.
export PET_NNODES=2 PET_NPROC_PER_NODE=1 PET_MASTER_ADDR=digits-node-0-0.digits PET_MASTER_PORT=29500
make_pod h1 digits-node-0-0 digits
make_pod h2 digits-node-0-1 digits
cp "$scratch/own_h2" "$scratch/hosts_h2" # this pod starts before the other one has a name
cp "$scratch/own_h1" "$scratch/hosts_h1"
PET_NODE_RANK=1 JOB_COMPLETION_INDEX=1 start_on h2 second --no-python sh "$worker"
node second wait_for_message "there is no address for the name 'digits-node-0-0.digits'"
publish_names
PET_NODE_RANK=0 JOB_COMPLETION_INDEX=0 start_on h1 first --no-python sh "$worker"
wait_for_world digits-node-0-0 digits-node-0-1
ranks_are_on digits-node-0-0 digits-node-0-1
for pid in "${worker_pids[@]}"; do
  grep -qzx "MASTER_ADDR=digits-node-0-0.digits" "/proc/$pid/environ" || fail "$pid has another MASTER_ADDR"
done
let_go
end_well first second
unset PET_NNODES PET_NPROC_PER_NODE PET_MASTER_ADDR PET_MASTER_PORT

# --- The JobSet with the witness of docs/examples/witness.yaml, which has its secret in a mounted file.
addresses=([witness]=10.77.0.3)
mkdir -m 755 "$scratch/secrets"
"$DDPRUN" secret >"$scratch/secret"
chmod 400 "$scratch/secret"
: >"$scratch/secrets/train-workers-0"
on h3 mount --bind "$scratch/secret" "$scratch/secrets/train-workers-0"
start_on h3 witness server --secret-dir "$scratch/secrets" --status-addr 0.0.0.0:8080
node witness wait_for_line "listening on .*:29400"
# The probe of a kubelet names the pod by its address.
on h2 timeout 60 bash -c 'exec 3<>/dev/tcp/10.77.0.3/8080
  printf "GET /healthz HTTP/1.1\r\nHost: 10.77.0.3:8080\r\nConnection: close\r\n\r\n" >&3
  grep -q "^HTTP/1.1 200 " <&3' || fail "the witness is not ready"

start_pod() { # HOST NAME RANK OPTIONS...
  DDPRUN_SECRET=$(<"$scratch/secret") JOB_COMPLETION_INDEX=$3 start_on "$1" "$2" "${@:4}" \
    --rdzv-conf heartbeat_timeout=2 --no-python sh "$worker"
}
with_witness=(--rdzv-backend c10d --rdzv-endpoint "train-workers-0-0.train:29400,witness:29400")
export PET_NNODES=1:2
make_pod h1 train-workers-0-0 train
make_pod h2 train-workers-0-1 train
publish_names
start_pod h1 first 0 "${with_witness[@]}"
start_pod h2 second 1 "${with_witness[@]}"
wait_for_world train-workers-0-0 train-workers-0-1
votes() { grep -q "witness" < <(on h1 "$DDPRUN" status "${agents[first]}" 2>/dev/null); }
until_true 60 "the witness to vote" votes

kill -KILL "${agents[first]}"
node first ends 137
wait_for_world train-workers-0-1

# The Job makes the pod again, with the same name and another address.
make_pod h4 train-workers-0-0 train
publish_names
start_pod h4 again 0 "${with_witness[@]}"
wait_for_world train-workers-0-0 train-workers-0-1
let_go
end_well second again
node witness says_not err "train-workers-0"

# --- A pod of the JobSet is evicted: the workers of both have time for a checkpoint.
export PET_NNODES=2
make_pod h1 train-workers-0-0 train
publish_names
start_pod h1 first 0 --preempt-signal SIGTERM
start_pod h2 second 1 --preempt-signal SIGTERM
wait_for_world train-workers-0-0 train-workers-0-1
kill -TERM "${agents[second]}" # workers end at the SIGUSR1 that asks them for a checkpoint
for pod in second first; do node "$pod" ends 85; done
for host in h1 h2 h4; do nothing_on "$host"; done
