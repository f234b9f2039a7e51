#!/usr/bin/env bash
# ddprun runs jobs where much is missing that a machine usually has, or says in a sentence what it needs.
. "$(dirname "$0")/odd_job.sh"

for i in ip setpriv unshare prlimit python3; do
  [ -n "$(command -v "$i")" ] || skip "there is no $i (Debian: iproute2, util-linux, python3)"
done
unshare --net --uts --mount true 2>"$scratch/why" || skip "no namespaces can be made here: $(cat "$scratch/why")"
as_user() { user=(setpriv --reuid "$1" --regid "$1" --clear-groups); }
unnamed=$((100000 + 4 * $$)) # nobody has that number
as_user "$unnamed"
cd /

# --- Odd users, and odd variables
wrap "${user[@]}"
works "a user without a name in \`/etc/passwd\`"
wrap "${user[@]}" env HOME=/root
works "\`HOME\` of another user"
wrap env HOME="$scratch/nowhere"
works "\`HOME\` is missing"
wrap env -i TMPDIR="$TMPDIR"
works "no variables at all, neither \`HOME\`, \`USER\` nor \`PATH\`"
wrap env LC_ALL=C LANG=C
run 0 --nproc-per-node 1 --no-python sh -c 'echo "$0"' "größe=3"
says out "größe=3"
row "\`LC_ALL=C\`, and arguments that are not ASCII" "works: workers get the same bytes"

# --- Files
in_mounts 'umount -l /dev/shm'
works "no \`/dev/shm\`"
in_mounts 'mount -t tmpfs -o mode=0 tmpfs /dev/shm' "${user[@]}"
works "\`/dev/shm\` that the user may not enter"
before=$(echo /var/tmp/ddprun*)
in_mounts 'mount -t tmpfs -o ro tmpfs /tmp' env -u TMPDIR
signals=TERM works "\`/tmp\` is read-only, no \`TMPDIR\`"
wrap env TMPDIR="$scratch/nowhere"
signals=TERM works "\`TMPDIR\` is missing"
[ ! -e "$scratch/nowhere" ] || fail "ddprun has made the folder"
[ "$(echo /var/tmp/ddprun*)" = "$before" ] || fail "left in /var/tmp: $(echo /var/tmp/ddprun*)"
in_mounts "mount -t tmpfs -o noexec tmpfs $TMPDIR"
works "\`/tmp\` with the option \`noexec\`"
in_mounts "mount -t tmpfs -o size=4k tmpfs $TMPDIR; head -c 4096 /dev/zero >$TMPDIR/full"
works "\`/tmp\` is full"
in_mounts "mount -t tmpfs -o nr_inodes=1 tmpfs $TMPDIR"
refuses "\`/tmp\` takes no more files" 71 "for error files (TMPDIR): cannot make a directory in"
long=$scratch/$(printf '%0198d/' 1 2 3 4 5)
mkdir -p "$long/tmp"
cp "$scratch/worker.sh" "$long/script.sh"
wrap env -C "$long" TMPDIR="$long/tmp"
run 0 --log-dir logs --redirects 3 --nproc-per-node 2 --no-python sh -c 'echo "rank $RANK"'
grep -qx "rank 1" "$long"/logs/*/attempt_0/1/stdout.log || fail "no log in $long/logs"
rm -r "$long/logs"
works "a working directory, script, \`--log-dir\` and \`TMPDIR\` whose paths have 1,000 characters"
wrap sh -c 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"' "$scratch/gone"
works "the working directory was removed"

# --- What the system tells
in_mounts 'umount -l /proc'
works "no \`/proc\`" "/proc is not mounted (mount -t proc proc /proc): processes that leave the session of their worker outlive the job"
in_mounts 'mount -t proc -o hidepid=2 proc /proc' "${user[@]}"
works "\`/proc\` that hides other users' processes (\`hidepid=2\`)"
in_mounts 'umount -l /sys'
works "no \`/sys\`"
in_mounts '! mountpoint -q /sys/fs/cgroup || umount -l /sys/fs/cgroup'
works "no cgroups"

# --- Names and addresses
in_mounts 'for file in hosts resolv.conf nsswitch.conf passwd host.conf; do
  [ ! -e /etc/$file ] || mount --bind /dev/null /etc/$file
done'
works "nothing in \`/etc/hosts\`, \`/etc/resolv.conf\`, \`/etc/nsswitch.conf\` and \`/etc/passwd\`"
wrap unshare --uts sh -c 'echo nowhere.invalid >/proc/sys/kernel/hostname; exec "$@"' sh
works "a host name that cannot be resolved"
only_ipv6='ip link set lo up; ip address del 127.0.0.1/8 dev lo; echo 0 >/proc/sys/net/ipv6/conf/lo/disable_ipv6'
in_net "$only_ipv6"
works "IPv6 alone: no 127.0.0.1"
in_net 'ip link set lo up; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6'
works "no IPv6"
in_net true
refuses "the interface lo is down" 71 "this machine does not reach its own address 127.0.0.1: Network is unreachable"

# two_nodes WHAT ENDPOINT: two agents find each other there, in the place that was made.
two_nodes() {
  local node agents=()
  for node in 1 2; do
    "$DDPRUN" --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint "$2" --rdzv-id odd \
      --no-python sh -c 'echo "a world of $WORLD_SIZE"' >"$scratch/out$node" 2>"$scratch/err" </dev/null &
    agents+=($!)
  done
  wait "${agents[@]}"
  [ "$(cat "$scratch/out1" "$scratch/out2" | grep -cx "a world of 2")" = 2 ] || fail "no world of two at $2"
  nothing_left
  row "$1" "works"
}
port=$(own_port)
wrap "${user[@]}"
two_nodes "two nodes of a user without a name, at \`localhost\`" "localhost:$port"
unshare --net sh -euc "$only_ipv6; exec sleep 1000" &
net=$!
until_true 60 "a network with IPv6 alone" nsenter -t "$net" --net sh -c 'ip address show lo | grep inet6'
wrap nsenter -t "$net" --net
two_nodes "two nodes, IPv6 alone, at \`[::1]\`" "[::1]:$port"
echo "::1 localhost" >"$scratch/hosts"
wrap nsenter -t "$net" --net unshare --mount sh -euc 'mount --bind "$0" /etc/hosts && exec "$@"' "$scratch/hosts"
two_nodes "two nodes, IPv6 alone, at \`localhost\`" "localhost:$port"
kill "$net"

# --- Limits
wrap prlimit --nofile=64
works "\`ulimit -n 64\`"
wrap prlimit --nofile=20
refuses "\`ulimit -n 20\`" 71 "2 workers need about 38 open files, and the system allows 20 (ulimit -Hn)"
# The kernel still counts processes of a user that have just been killed: each limit is for one without any.
as_user $((100001 + 4 * $$))
wrap prlimit --nproc=1 "${user[@]}"
refuses "\`ulimit -u 1\`" 71 "the system starts no thread for ddprun: Resource temporarily unavailable"
as_user $((100002 + 4 * $$))
wrap prlimit --nproc=3 "${user[@]}"
refuses "\`ulimit -u 3\`" 126 "Resource temporarily unavailable; the limit of processes is reached (ulimit -u, pids.max)"
wrap prlimit --as=100000000
works "\`ulimit -v 100000\`"

# --- What the parent leaves to it
wrap sh -c 'exec "$@" <&-' sh
whole_job
wrap sh -c 'exec "$@" <&- >&-' sh
mute=out whole_job
wrap sh -c 'exec "$@" 2>&-' sh
mute=err whole_job
wrap sh -c 'exec "$@" <&- >&- 2>&-' sh
mute="out err" works "standard input, output and errors are closed, each or all of them"
wrap sh -c 'true | "$@" & wait $!' sh
run 0 --nproc-per-node 1 --no-python cat
row "standard input is a pipe that nobody writes to" "works"
wrap env --ignore-signal=PIPE,CHLD,INT,HUP
works "SIGPIPE, SIGCHLD, SIGINT and SIGHUP are ignored"
wrap env --block-signal=PIPE,CHLD,INT,TERM
works "SIGPIPE, SIGCHLD, SIGINT and SIGTERM are blocked"

# --- The fork server of --warm
echo 'import os; print("warm", os.environ["RANK"])' >"$scratch/warm.py"
warm_works() {
  run 0 --warm --nproc-per-node 2 "$scratch/warm.py"
  says out "warm 1"
  says_not err "--warm"
}
wrap env -i PATH=/usr/bin:/bin TMPDIR="$TMPDIR"
warm_works
wrap "${user[@]}" env -u HOME
warm_works
in_mounts 'umount -l /dev/shm'
warm_works
row "\`--warm\` without variables, as a user without a name, and without \`/dev/shm\`" "works"

# --- From Python
mkdir "$scratch/modules" "$scratch/program" # the scratch folder's own ddprun is another one
cp -r "$here/../../worker_sdk/python/ddprun" "$scratch/modules"
cp "$real" "$scratch/program/ddprun"
cat >"$scratch/call.py" <<'PY'
import os
import ddprun

def own_facts():
    return int(os.environ["RANK"]), os.getuid(), os.environ.get("HOME")

if __name__ == "__main__":
    print(ddprun.launch(own_facts, nproc_per_node=2))
PY
chmod -R a+rX "$scratch/modules" "$scratch/program" "$scratch/call.py"
as_user "$unnamed"
"${user[@]}" env -i PATH="$scratch/program:/usr/bin:/bin" TMPDIR="$TMPDIR" PYTHONPATH="$scratch/modules" \
  python3 "$scratch/call.py" >"$scratch/out" 2>"$scratch/err" || fail "ddprun.launch() has failed"
says out "[(0, $unnamed, None), (1, $unnamed, None)]"
row "\`ddprun.launch()\` without variables but \`PATH\`, as a user without a name" "works"
rows_are_in "In an unusual environment"
