#!/usr/bin/env bash
# Runs a command in a bare Debian, which is thrown away afterwards. Needs root and Debian's package
# debootstrap.
#   rootfs.sh SUITE [--arch aarch64] [--with PACKAGE,...] [--bring FILE]... [--share FOLDER]... -- COMMAND...
#   rootfs.sh SUITE [--arch aarch64] [--with PACKAGE,...] --where    prints its folder, and runs nothing
# SUITE is bullseye, bookworm, trixie or forky (testing). The packages are installed beside the few of debootstrap's
# smallest variant. A file that is brought lies in /root, where the command starts. A shared folder has
# its own path there, and what the command writes into it stays.
#
# With --arch aarch64 it is a Debian for 64-bit Arm. The kernel hands its programs to qemu.
#
# The Debian is made once, in the cache; what the command changes lies in memory above it. Its
# processes and mounts are in namespaces of their own, and go with the command.
. "$(dirname "$0")/lib.sh"

suite=${1:?usage: rootfs.sh SUITE [--arch aarch64] [--with PACKAGE,...] [--bring FILE]... [--share FOLDER]... -- COMMAND...}
shift
arch=
packages=
bring=()
share=()
script=()
while [ "${1:---}" != -- ] && [ "$1" != --where ]; do
  case $1 in
    --arch)
      arch=${2:-}
      [ "$arch" = aarch64 ] || die "--arch is '$arch', expected aarch64"
      ;;
    --with) packages=${2:?--with needs packages} ;;
    --bring) bring+=("$(realpath "${2:?--bring needs a file}")") ;;
    --share) share+=("$(realpath "${2:?--share needs a folder}")") ;;
    *) die "'$1' is not known: --arch, --with, --bring, --share, --where or --" ;;
  esac
  shift 2
done
only_where=
[ "${1:-}" != --where ] || only_where=yes
[ -n "$only_where" ] || [ $# -gt 1 ] || die "there is no command after --"
shift
[ "$(id -u)" = 0 ] || die "only root may mount what it needs"
command -v debootstrap >/dev/null || die "debootstrap is missing: apt-get install debootstrap"

if [ -n "$arch" ]; then
  debian_arch=arm64
  run_aarch64_by_qemu
else
  debian_arch=$(dpkg --print-architecture)
fi

# A name of all packages could be longer than a file's may be.
base=$cache/rootfs/$suite${arch:+-$arch}${packages:+-$(sha256sum <<<"$packages" | cut -c 1-12)}
mkdir -p "$cache/rootfs"
exec {lock}>"$base.lock"
flock "$lock"
if [ ! -e "$base/etc/debian_version" ]; then
  rm -rf "$base" "$base.new"
  # A suite that is newer than debootstrap is made as the unstable one is.
  scripts=/usr/share/debootstrap/scripts
  [ -e "$scripts/$suite" ] || script=("" "$scripts/sid")
  debootstrap --arch="$debian_arch" --variant=minbase ${packages:+--include="$packages"} "$suite" "$base.new" \
    "${script[@]}" >"$base.log" 2>&1 || die "debootstrap has failed, see $base.log"
  rm -rf "$base.new"/var/cache/apt/archives/*.deb "$base.new"/var/lib/apt/lists/*
  mv "$base.new" "$base"
fi
flock -u "$lock"
if [ -n "$only_where" ]; then
  echo "$base"
  exit
fi

scratch=$(mktemp -d)
trap 'rmdir "$scratch"' EXIT
# shellcheck disable=SC2016 # the inner shell expands them
unshare --mount --pid --fork --kill-child bash -c '
  set -euo pipefail
  scratch=$1 base=$2
  shift 2
  mount -t tmpfs tmpfs "$scratch"
  mkdir "$scratch"/{changes,work,root}
  root=$scratch/root
  layers=lowerdir=$base,upperdir=$scratch/changes,workdir=$scratch/work
  mount -t overlay overlay -o "$layers" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount --rbind /dev "$root/dev"
  echo "127.0.0.1 localhost $(uname -n)" >"$root/etc/hosts" # as installers and container runtimes do
  # The machine may trust more than Debian does, such as a proxy.
  certificates=/etc/ssl/certs/ca-certificates.crt
  [ ! -e "$root$certificates" ] || [ ! -e "$certificates" ] || cp "$certificates" "$root$certificates"
  while [ "$1" != -- ]; do
    cp -L "$1" "$root/root/"
    shift
  done
  shift
  while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --bind "$1" "$root$1"
    shift
  done
  shift
  # It is the root of the namespace, too, so that nsenter does not lead out of it.
  cd "$root"
  pivot_root . .
  umount --lazy .
  exec /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c "cd /root && \"\$@\"; exit \$?" sh "$@" # a shell that stays buries orphans
' rootfs "$scratch" "$base" "${bring[@]}" -- "${share[@]}" -- "$@"
