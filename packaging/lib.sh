# shellcheck shell=bash
# What the recipes share. It is sourced, not run.
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

dist=$project/dist
# The one place that has the version is the project() of CMakeLists.txt.
version=$(sed -nE 's/^project\(ddprun VERSION ([0-9.]+).*/\1/p' "$project/CMakeLists.txt")
[ -n "$version" ] || die "CMakeLists.txt has no line 'project(ddprun VERSION ...'"

# Tools that write a time into what they make take this one, so that two runs write the same bytes.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -C "$project" log -1 --format=%ct 2>/dev/null || echo 1)
fi
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
umask 022

# binary_of ARCH: where the packaged executable for that processor is: x86_64 or aarch64.
binary_of() { echo "$dist/ddprun-$version-linux-$1"; }
