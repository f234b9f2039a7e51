# shellcheck shell=bash disable=SC2034,SC2154 # tests use etcds; nodes is of hosts.sh
# An etcd on hosts of hosts.sh, which a test sources before this file. It ends with its host.

# need_etcd: the test is skipped where there is none.
need_etcd() {
  [ -n "$(command -v etcd)" ] || skip "there is no etcd (Debian: etcd-server)"
  [ -n "$(command -v etcdctl)" ] || skip "there is no etcdctl (Debian: etcd-client)"
}

declare -A etcds # by host: the process of its member

# start_etcd HOST...: a member of one cluster on each, at port 2379. Elections are quick there.
start_etcd() {
  local host cluster='' scheme=${etcd_scheme:-http}
  for host; do cluster+=,$host=http://$(address_of "$host"):2380; done
  for host; do start_member "$host" "${cluster#,}" "$scheme"; done
  for host; do until_true 60 "the etcd on $host" etcd_is_well "$host"; done
}
start_member() { # HOST CLUSTER SCHEME
  local at
  at=$(address_of "$1")
  exec_on "$1" etcd --name "$1" --data-dir "$nodes/$1.etcd" \
    --listen-client-urls "$3://$at:2379" --advertise-client-urls "$3://$at:2379" \
    --listen-peer-urls "http://$at:2380" --initial-advertise-peer-urls "http://$at:2380" \
    --initial-cluster "$2" --heartbeat-interval 20 --election-timeout 200 "${etcd_options[@]}" \
    >"$nodes/$1.etcd_log" 2>&1 </dev/null &
  etcds[$1]=$!
  disown $!
}
etcd_options=()
address_of() { echo "10.77.0.${1#h}"; }
etcd_is_well() { etcdctl_on "$1" endpoint health >/dev/null 2>&1; }
etcdctl_on() { # HOST ARGUMENTS...
  ETCDCTL_API=3 on "$1" etcdctl --endpoints "${etcd_scheme:-http}://$(address_of "$1"):2379" \
    --command-timeout 20s "${etcdctl_options[@]}" "${@:2}"
}
etcdctl_options=()

# coordinator_by HOST: prints the host of the job's coordinator, as the etcd there knows it.
coordinator_by() {
  etcdctl_on "$1" get /ddprun/job/coordinator --print-value-only 2>/dev/null |
    sed -n 's/.*"endpoint":"10\.77\.0\.\([0-9]*\):.*/h\1/p'
}
has_coordinator() { [ -n "$(coordinator_by "$1")" ]; }
has_no_coordinator() { ! has_coordinator "$1"; }
