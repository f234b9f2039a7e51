#!/usr/bin/env bash
# Started by SageMaker or as pods of an indexed Job, nodes find each other without an option, also when
# the first of them has no name yet.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

need_hosts 2


# --- SageMaker
export SM_HOSTS='["h1","h2"]' TRAINING_JOB_NAME=digits-1
SM_CURRENT_HOST=h2 start_on h2 two --no-python sh "$worker"
SM_CURRENT_HOST=h1 start_on h1 one --no-python sh "$worker"
wait_for_world h1 h2
[ "${worker_hosts[*]}" = "h1 h2" ] || fail "ranks are on ${worker_hosts[*]}"
let_go
for node in one two; do node "$node" ends 0; done
node one says err "SageMaker job digits-1: node 0 of 2, coordinator at h1:"
unset SM_HOSTS TRAINING_JOB_NAME

# --- Kubernetes: every pod has its own name in its /etc/hosts, and a name server has the others'.
for i in 1 2; do
  pod=train-$((i - 1))
  echo "10.77.0.$i $pod.net.ml.svc.cluster.local $pod" >"$scratch/hosts_$pod"
  on "h$i" mount --bind "$scratch/hosts_$pod" /etc/hosts
  on "h$i" sh -c "echo $pod >/proc/sys/kernel/hostname"
done
export PET_NNODES=2
JOB_COMPLETION_INDEX=1 LOGLEVEL=INFO start_on h2 second --no-python sh "$worker"
node second wait_for_message "there is no address for the name 'train-0.net"
JOB_COMPLETION_INDEX=0 start_on h1 first --no-python sh "$worker"
node first wait_for_message "Kubernetes: node 0 of 2, coordinator at train-0.net.ml.svc.cluster.local:29400"
cat "$scratch/hosts_train-0" >>"$scratch/hosts_train-1"
wait_for_world train-0 train-1
[ "${worker_hosts[*]}" = "train-0 train-1" ] || fail "ranks are on ${worker_hosts[*]}"
let_go
for node in first second; do node "$node" ends 0; done
for host in h1 h2; do nothing_on "$host"; done
