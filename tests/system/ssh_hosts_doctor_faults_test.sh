#!/usr/bin/env bash
# Each fault that is planted on one of four hosts, or between two of them, is found by ddprun doctor --hosts, and
# named: the check, and the host or the pair. Without a fault there is no complaint.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/ssh_hosts.sh"
. "$(dirname "$0")/doctor_faults.sh"

need_doctor_hosts 4
all=h1,h2,h3,h4

# with_start LINE: ddprun on h3 begins with it, from now on; without_start ends that.
with_start() { echo "$1" >>"$scratch/h3.start"; }
without_start() { sed -i '2,$d' "$scratch/h3.start"; }

for _ in 1 2; do
  doctor 0 $all
  finds_nothing
done

# --- A node by itself.

echo "nameserver 10.77.0.99" >"$scratch/h3.resolv"
doctor 0 $all
finds_only "warning name-server on h3: the name server 10.77.0.99 does not answer"
echo "nameserver 10.77.0.250" >"$scratch/h3.resolv"

with_start "ulimit -Sn 256"
doctor 1 $all
finds_only "failed open-files on h3: 256 open files for a process \(it may raise that to "
without_start

on h3 mount -t tmpfs -o size=64m none /dev/shm
doctor 0 $all
finds_only "warning shm on h3: /dev/shm has 64 MiB"
on h3 umount /dev/shm

on h3 mount -t tmpfs -o size=1m none "$shared"
on h3 dd if=/dev/zero of="$shared/full" bs=4k status=none 2>/dev/null || true
doctor 1 $all
finds_only "failed checkpoints-folder on h3: .*No space left on device"
on h3 umount "$shared"

on h3 mount -t tmpfs -o size=32m none "$shared"
doctor 1 $all
finds_only "failed disk on h3: 32 MiB free" "failed checkpoints-shared on h3: .* h1, h2 and h4 "
on h3 umount "$shared"

on h3 mount --bind "$shared" "$shared"
on h3 mount -o remount,bind,ro "$shared"
doctor 1 $all
finds_only "failed checkpoints-folder on h3: .*Read-only file system"
on h3 umount "$shared"

# A process that takes the only CPU that h3 may use: half of those that a machine with two has. It comes before what
# else this machine has to do. The kernel shares CPUs between sessions first, so it has one of its own. It leaves a
# tenth of the CPU, by which Python on h3 has to answer in time.
last_cpu=$(($(nproc) - 1))
set +m # setsid would fork in a job that leads a group
setpriv --pdeathsig KILL setsid taskset -c $last_cpu nice -n -20 bash -c 'echo -10 >/proc/self/autogroup
  while :; do :; done' </dev/null >/dev/null 2>&1 &
busy=$!
disown $busy
set -m
sleep 3 # what is younger than two seconds does not count; ps tells huge ages of processes that are just there
with_start "taskset -pc $last_cpu \$\$ >/dev/null"
doctor 0 $all
finds "warning cpus-busy on h3: other processes use .* of 1 CPU: .*bash \(pid $busy,"
[ "$last_cpu" = 0 ] || finds "warning same-cpus on h3: CPUs: 1, and $(nproc) on h1, h2 and h4"
kill -KILL $busy
without_start

# --- A node that differs.

make_python other 2.10.0
with_start "PATH=$scratch/other/bin:\$PATH"
doctor 1 $all
finds_only "failed same-torch on h3: torch 2.10.0\+cpu, and 2.11.0\+cpu on h1, h2 and h4"
without_start

echo 'print("other")' >"$scratch/other.py"
on h3 mount --bind "$scratch/other.py" "$scratch/train.py"
doctor 1 $all
finds_only "failed same-script on h3: "
on h3 umount "$scratch/train.py"

on h3 mount -t tmpfs none "$shared"
doctor 1 $all
finds_only "failed checkpoints-shared on h3: files that h1, h2 and h4 wrote"
on h3 umount "$shared"

# The kernel has one clock for all hosts, so that ddprun on h3 is shown another one by its library of C.
cat >"$scratch/late.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  int (*real)(clockid_t, struct timespec*) = dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += 3;
  return code;
}
C
if cc -shared -fPIC -o "$scratch/late.so" "$scratch/late.c" 2>"$scratch/why"; then
  # The runtime of AddressSanitizer wants to be the first library.
  with_start "export LD_PRELOAD=$scratch/late.so ASAN_OPTIONS=verify_asan_link_order=0"
  doctor 0 $all
  finds_only "warning clock on h3: the clock is 3.0 s ahead of those of other nodes"
  without_start
else
  echo "no clock is changed: there is no C compiler"
fi

# --- The way between nodes.

# A host whose name leads elsewhere on another one.
sed 's/^10.77.0.3 h3$/10.77.0.2 h3/' "$scratch/etc_hosts" >"$scratch/wrong_hosts"
on h1 mount --bind "$scratch/wrong_hosts" /etc/hosts
doctor 0 $all
finds_only "warning peer-names on h3: its name, 'h3', is 10.77.0.2 on h1,"
on h1 umount /etc/hosts

if [ -n "$(command -v nft)" ]; then
  for end in "drop" "reject with tcp reset"; do
    on h3 nft -f - <<NFT
table ip closed {
  chain input { type filter hook input priority 0; ip saddr 10.77.0.2 tcp dport != 22 $end; }
}
NFT
    doctor 1 $all
    if [ "$end" = drop ]; then
      finds_only "failed link on h2: this node cannot connect to h3: no answer within 2 s \(10.77.0.3\)" \
        "failed link on h3: this node cannot connect to h2: no answer"
    else
      finds "failed link on h2: this node cannot connect to h3: Connection refused \(10.77.0.3\)"
    fi
    on h3 nft delete table ip closed
  done
else
  echo "no port is closed: there is no nft (Debian: nftables)"
fi

# Libraries that take an interface which leads nowhere, though it is up and has an address.
on h3 ip link add away0 up type veth peer name away1
on h3 ip link set away1 up
on h3 ip address add 172.31.0.1/24 dev away0
with_start "export NCCL_SOCKET_IFNAME=away0"
doctor 1 $all
finds_only "failed nccl-address on h3: h1, h2 and h4 cannot connect to .*NCCL takes: .*172.31.0.1"
without_start
with_start "export GLOO_SOCKET_IFNAME=away0"
doctor 1 $all
finds_only "failed gloo-address on h3: h1, h2 and h4 cannot connect to .*Gloo takes: .*172.31.0.1"
without_start
on h3 ip link del away0

# IPv6 is tried beside IPv4, where both ends have it.
if [ -e /proc/sys/net/ipv6 ]; then
  for i in 1 2 3; do
    on "h$i" sh -c 'for f in all default eth0 lo; do echo 0 >/proc/sys/net/ipv6/conf/$f/disable_ipv6; done'
    on "h$i" ip address add "fd77::$i/64" dev eth0 nodad
  done
  doctor 0 $all
  finds_nothing
  on h3 ip -6 neighbour replace fd77::1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent # nobody has that one
  on h3 ip -6 neighbour replace fd77::2 lladdr 02:00:00:00:00:01 dev eth0 nud permanent
  doctor 0 $all
  finds_only "warning ipv6 on h3: h1 and h2 cannot connect to this node over IPv6: no answer within 2 s"
  for i in 1 2 3; do on "h$i" ip address del "fd77::$i/64" dev eth0; done
else
  echo "IPv6 is not tried: this kernel has none"
fi

# A switch that takes smaller packets than the hosts send, and tells nobody. The hosts cut packets themselves, and
# ssh's are small.
for host in h1 h2 h3 h4; do on $host ip link set eth0 gso_max_segs 1; done
on me ip route add 10.77.0.3 dev eth0 mtu 1280
on h3 ip route add 10.77.0.250 dev eth0 mtu 1280
on hub ip link set h3 mtu 1280
doctor 1 $all
finds_only "failed mtu on h3: short messages of h1, h2 and h4 reach this node, and long ones do not"
on hub ip link set h3 mtu 1500

# The host's own interface is smaller. TCP agrees on that, so nothing is lost.
on h3 ip link set eth0 mtu 1400
doctor 0 $all
finds_only "warning same-mtu on h3: an MTU of 1400, and 1500 on h1, h2 and h4"
on h3 ip link set eth0 mtu 1500

slow h3 100 # each way
doctor 0 $all
finds_only "warning link on h3: answers of this node take long to reach h1, h2 and h4: 20[0-9] ms there and back"

nothing_of_the_job_on h1 h2 h3 h4
