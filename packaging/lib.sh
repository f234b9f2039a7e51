# shellcheck shell=bash
# What the recipes share. It is sourced, not run.
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

dist=$project/dist
# The one place that has the version is the project() of CMakeLists.txt.
version=$(sed -nE 's/^project\(ddprun VERSION ([0-9.]+).*/\1/p' "$project/CMakeLists.txt")
[ -n "$version" ] || die "CMakeLists.txt has no line 'project(ddprun VERSION ...'"

# The packaged executable needs this version of the C library, or a newer one.
# shellcheck disable=SC2034 # for scripts that source this
glibc=$(sed -nE 's/^OLDEST_GLIBC = "([0-9.]+)".*/\1/p' "$project/packaging/toolchain.py")

# Tools that write a time into what they make take this one, so that two runs write the same bytes.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$project" log -1 --format=%ct 2>/dev/null || echo 1)
fi
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

# read_arch WORD...: sets $arch to the processor that `--arch PROCESSOR` names, and to x86_64 without it.
read_arch() {
  [ $# = 0 ] || [ "$1" = --arch ] || die "'$1' is not known: --arch"
  [ $# = 0 ] || [ $# = 2 ] || die "--arch needs x86_64 or aarch64, and nothing follows it"
  arch=${2:-x86_64}
  case $arch in
    x86_64 | aarch64) ;;
    *) die "--arch is '$arch', expected x86_64 or aarch64" ;;
  esac
}

# binary_of ARCH: where the packaged executable for that processor is: x86_64 or aarch64.
binary_of() { echo "$dist/ddprun-$version-linux-$1"; }

# run_aarch64_by_qemu: the kernel hands programs for 64-bit Arm to qemu from here on, for all users of the machine
# (https://docs.kernel.org/admin-guide/binfmt-misc.html). Debian's qemu-user-static does so where binfmt-support or
# systemd runs; elsewhere root can say it.
run_aarch64_by_qemu() {
  local list=/proc/sys/fs/binfmt_misc qemu
  qemu=$(command -v qemu-aarch64-static) || die "qemu-aarch64-static is missing: apt-get install qemu-user-static"
  [ ! -e "$list/qemu-aarch64" ] || return 0
  [ -e "$list/register" ] || mount -t binfmt_misc binfmt_misc "$list" ||
    die "the kernel has no binfmt_misc, by which it would run programs for 64-bit Arm"
  # Its first 20 bytes tell an ELF file's processor. F: the kernel opens qemu now, so that it is there in every chroot.
  # P: the program sees the name that it was called by.
  local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
  local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  printf '%s' ":qemu-aarch64:M::$magic:$mask:$qemu:POCF" >"$list/register"
}
