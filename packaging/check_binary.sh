#!/usr/bin/env bash
# Checks the executables in dist/: two builds have the same bytes, it runs jobs with nothing beside it in a
# bare Debian 11, 12 and 13, and that for aarch64 does so in a Debian 12 under qemu. Needs root.
#   check_binary.sh [--quick]    without the second build
. "$(dirname "$0")/lib.sh"

binary=$(binary_of x86_64)
[ -e "$binary" ] || die "there is no $binary: scripts/package binary"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The second build has the same sources at another place, which has no git to ask for the commit.
build_again() {
  DDPRUN_COMMIT=$(git -C "$project" describe --always --dirty --abbrev=12 --exclude='*')
  export DDPRUN_COMMIT
  git -C "$project" ls-files -z --cached --others --exclude-standard |
    (cd "$project" && xargs -0 tar -cf - --) | tar -C "$scratch" -xf -
  local arch file
  for arch in x86_64 aarch64; do
    file=$(binary_of "$arch")
    [ -e "$file" ] || continue
    "$scratch/packaging/binary.sh" --arch "$arch" >"$scratch/log" 2>&1 || die "$(cat "$scratch/log")"
    cmp "$file" "$scratch/dist/${file##*/}" || die "two builds for $arch differ"
    say "$arch: two builds have one hash: $(sha256sum "$file" | cut -c 1-16)..., $(stat -c %s "$file") bytes"
  done
}
[ "${1:-}" = --quick ] || build_again

# What needs other programs is left to the system tests; here it is about the C library.
cp "$binary" "$scratch/ddprun"
"$binary" --version | head -n 1 >"$scratch/version"
cat >"$scratch/jobs.sh" <<'SH'
set -e
known=${1:-} # what ddprun says there, and nowhere else: a pattern of sed
expect() { # TEXT COMMAND...
  wanted=$1
  shift
  "$@" >out 2>&1 || { echo "failed: $*"; cat out; exit 1; }
  [ -z "$known" ] || sed -i "/$known/d" out
  [ "$(sort -u out | tr '\n' ' ')" = "$wanted" ] || { echo "said by $*, expected $wanted:"; cat out; exit 1; }
}
./ddprun --version | head -n 1 | diff version - || { echo "the executables in dist/ are of two builds"; exit 1; }
expect "rank 0 of 2 rank 1 of 2 " ./ddprun --nproc-per-node 2 --no-python \
  sh -c 'echo "rank $RANK of $WORLD_SIZE"'

# Rank 1 fails once.
cat >once.sh <<'ONCE'
[ "$RANK$TORCHELASTIC_RESTART_COUNT" != 10 ] || exit 3
[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && exec sleep 60
echo again >>"again.$RANK"
ONCE
./ddprun --nproc-per-node 2 --max-restarts 1 --no-python sh once.sh >out 2>&1 || { cat out; exit 1; }
[ "$(cat again.0 again.1 | wc -l)" = 2 ]

code=0
./ddprun --nproc-per-node 2 --no-python sh -c 'exit 5' >out 2>&1 || code=$?
[ "$code" = 5 ] || { echo "exit code $code, expected 5:"; cat out; exit 1; }

# Two nodes that find each other by a name and share a secret.
(umask 077 && ./ddprun secret >job.secret)
for node in 1 2; do
  timeout 120 ./ddprun --nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint localhost:29411 \
    --rdzv-id bare --secret-file job.secret --no-python sh -c 'echo $WORLD_SIZE >"world.$RANK"' \
    >"out.$node" 2>&1 &
  eval "node$node=$!"
done
wait "$node1" && wait "$node2" || { cat out.1 out.2; exit 1; }
[ "$(cat world.0 world.1 | tr '\n' ' ')" = "2 2 " ]

for shell in bash zsh fish; do ./ddprun --completion "$shell" | grep -q ddprun; done
code=0
./ddprun checkpoint verify nowhere >out 2>&1 || code=$?
[ "$code" != 0 ] && grep -q nowhere out
cat /etc/debian_version
SH
brought=(--bring "$scratch/ddprun" --bring "$scratch/jobs.sh" --bring "$scratch/version")
for suite in bullseye bookworm trixie; do
  "$project/packaging/rootfs.sh" "$suite" "${brought[@]}" -- sh jobs.sh >"$scratch/out" 2>&1 ||
    die "$suite: $(cat "$scratch/out")"
  say "runs jobs in a bare Debian $(tail -n 1 "$scratch/out")"
done

arm=$(binary_of aarch64)
[ -e "$arm" ] || { say "there is no $arm: scripts/package binary --arch aarch64" && exit 0; }
readelf --file-header "$arm" | grep -q AArch64 || die "$arm is not for aarch64"
# Grace's kernels may have pages of 64 KiB, on which no two segments may meet.
readelf --program-headers --wide "$arm" | awk '$1 == "LOAD" && $NF != "0x10000" { exit 1 }' ||
  die "$arm has segments that pages of 64 KiB would mix"
cp "$arm" "$scratch/ddprun"
# qemu has neither NETLINK_SOCK_DIAG nor PR_SET_CHILD_SUBREAPER.
known='the kernel does not tell whose a connection is\|the system makes no orphan a child of ddprun'
"$project/packaging/rootfs.sh" bookworm --arch aarch64 "${brought[@]}" -- sh jobs.sh "$known" >"$scratch/out" 2>&1 ||
  die "aarch64: $(cat "$scratch/out")"
say "aarch64: runs jobs under qemu in a bare Debian $(tail -n 1 "$scratch/out"), $(stat -c %s "$arm") bytes"
