#!/usr/bin/env bash
# ddprun doctor --bench measures hosts and the ways between them, and names what is much slower than the others.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"

[ -n "$(command -v python3)" ] || skip "there is no python3"
need_hosts 4
join_bridge me 250 ""

# In place of ssh: the hosts are namespaces, and an sshd would put each command into a group of its own of the
# scheduler.
cat >"$scratch/enter" <<EOF
{ echo -19 >/proc/self/autogroup; } 2>/dev/null # as first() does: ddprun gives each ssh a session
case \$1 in
$(for host in "${!keepers[@]}"; do echo "  $host) keeper=${keepers[$host]} ;;"; done)
esac
[ ! -e "$scratch/\$1.group" ] || echo \$\$ >"\$(cat "$scratch/\$1.group")/cgroup.procs"
deaf=$scratch/\$1.deaf
shift
set -- nsenter --target "\$keeper" --net --uts --mount -- sh -c "\$*"
[ -e "\$deaf" ] || exec "\$@"
grep --line-buffered -v -f "\$deaf" | "\$@"
EOF
# A group with a quota of CPU time, which h2 may be put into; "": none can be made here.
quota_group=
trap '[ -z "$quota_group" ] || rmdir "$quota_group" 2>/dev/null; leave_no_host' EXIT

# Other tests may keep the CPUs busy, which would be found. So what measures goes before them.
first() { # COMMAND...
  # shellcheck disable=SC2016
  setsid --wait sh -c '{ echo -19 >/proc/self/autogroup; renice -n -19 -p $$; } >/dev/null 2>&1; exec "$@"' sh "$@"
}
PYTHON_EXEC=$(command -v python3)
export PYTHON_EXEC

bench() { # HOSTS: measures on `me`; another check may have failed
  local begin=$EPOCHREALTIME code=0
  first nsenter --target "${keepers[me]}" --net --uts --mount -- \
    "$DDPRUN" doctor --ssh-cmd "sh $scratch/enter" --bench --json --hosts "$1" \
    >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
  [ "$code" -le 1 ] || fail "exit code $code of ddprun doctor --bench: $(cat "$scratch/err")"
  python3 - "$scratch/out" "$1: $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000)) ms" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
print(sys.argv[2])
for each in d["findings"]:
    if each["subject"] in ("bench", "cpu-time", "cpu-speed", "memory-bandwidth", "link-bandwidth", "link-latency"):
        print("   ", each["severity"], each["subject"], each["node"] + ":", each["seen"])
END
}
has() { # PYTHON: a condition on the report d, its measurements b, and what it warns of in w, by subject and node
  python3 - "$scratch/out" "$1" <<'END' || fail "not so: $1"
import json, sys
d = json.load(open(sys.argv[1]))
b = d["bench"]
subjects = ("bench", "cpu-time", "cpu-speed", "memory-bandwidth", "link-bandwidth", "link-latency")
w = [(each["subject"], each["node"]) for each in d["findings"]
     if each["severity"] != "ok" and each["subject"] in subjects]
seen = {(each["subject"], each["node"]): each["seen"] for each in d["findings"]}
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

for ((run = 0; run < ${healthy_runs:-2}; run++)); do
  bench h1,h2,h3,h4
  has 'w == []'
  has 'len(b["links"]) == b["pairs"] == 6 and all(0 < each["rtt_us"] < 20000 for each in b["links"])'
  has 'all(each["there_mbit_per_s"] > 90 and each["back_mbit_per_s"] > 90 for each in b["links"])'
  has 'all(each["cpus"] and each["memory"] for each in b["nodes"])'
done
for host in h1 h2 h3 h4; do nothing_on "$host"; done

# What h2 sends is limited. It is to blame, and not the three links.
if on h2 tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 50ms 2>"$scratch/why"; then
  bench h1,h2,h3,h4
  has 'w == [("link-bandwidth", "h2")] and "Mbit/s to h1, h3 and h4" in seen[w[0]]'
  bench h1,h2
  has 'w == [("link-bandwidth", "h1")] and "from h2" in seen[w[0]]'
  on h2 tc qdisc del dev eth0 root

  # The way from h1 to h4 is another one, which is limited. That is a pair, and no node.
  on h1 ip link add other up type veth peer name other netns "${keepers[h4]}"
  on h4 ip link set other up
  on h1 ip route add 10.77.0.4/32 dev other src 10.77.0.1
  on h4 ip route add 10.77.0.1/32 dev other src 10.77.0.4
  on h1 tc qdisc add dev other root tbf rate 10mbit burst 32kb latency 50ms
  bench h1,h2,h3,h4
  has 'w == [("link-bandwidth", "h1")] and "Mbit/s to h4, " in seen[w[0]]'
  on h1 ip link del other
else
  echo "a limited link is not tried: $(cat "$scratch/why")"
fi

# h2 never hears that it is to open a port. Nothing is measured with it, and a finding says so.
echo '"bench":"prepare"' >"$scratch/h2.deaf"
bench h1,h2,h3
has 'sorted(each[1] for each in w if each[0] == "bench") == ["h1", "h2", "h2"]'
has '"to h2 could not be measured: that node has opened no port" in seen["bench", "h1"]'
has 'len(b["links"]) == 3 and "does not answer any more" in seen["bench", "h2"]'
rm "$scratch/h2.deaf"

slow h3 200
bench h1,h2,h3,h4
has 'w == [("link-latency", "h3")] and "to h1, h2 and h4 take 4" in seen[w[0]]'
for host in h1 h2 h3 h4; do nothing_on "$host"; done

# h2 has a third of a CPU.
for folder in /sys/fs/cgroup /sys/fs/cgroup/cpu; do
  [ -e "$folder/cgroup.procs" ] || continue
  quota_group=$folder/ddprun-test-$$
  if ! mkdir "$quota_group" 2>"$scratch/why"; then quota_group='' && continue; fi
  if [ -e "$quota_group/cpu.max" ] && echo "30000 100000" >"$quota_group/cpu.max"; then break; fi
  if [ -e "$quota_group/cpu.cfs_quota_us" ] && echo 30000 >"$quota_group/cpu.cfs_quota_us"; then break; fi
  rmdir "$quota_group"
  quota_group=
done
if [ -n "$quota_group" ]; then
  echo "$quota_group" >"$scratch/h2.group"
  bench h1,h2
  has '[each for each in w if each[1] != "h1"] == [("cpu-time", "h2")] and "% of the time" in seen["cpu-time", "h2"]'
  nothing_on h2
else
  echo "a quota is not tried: no cgroup can be made"
fi

# A process that never sleeps has half of one CPU.
cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
# shellcheck disable=SC2016
first sh -c 'taskset --cpu-list "$1" sh -c "while :; do :; done" & busy=$!
  "$2" doctor --bench --json; kill $busy' sh "$cpu" "$DDPRUN" >"$scratch/out" </dev/null
has '[each[0] for each in w] == ["cpu-time"] and "CPU '"$cpu"': only" in seen[w[0]]'
