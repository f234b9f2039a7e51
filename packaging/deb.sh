#!/usr/bin/env bash
# Makes dist/ddprun_VERSION_amd64.deb, with the packaged executable, and dist/libddprun-dev_VERSION_all.deb,
# with the sources of the worker SDK, by debhelper. lintian has to be content with both.
#   deb.sh                      for x86_64
#   deb.sh --arch aarch64       dist/ddprun_VERSION_arm64.deb: the sources are the same for all
# DDPRUN_EXECUTABLE packs that file instead of a fresh packaged executable.
. "$(dirname "$0")/lib.sh"

read_arch "$@"
# What the executable says of itself goes into the package: it has to run here.
case $arch in
  x86_64)
    debian_arch=amd64
    run=()
    ;;
  aarch64)
    debian_arch=arm64
    run=(qemu-aarch64-static -L /usr/aarch64-linux-gnu)
    if ! command -v "${run[0]}" >/dev/null || [ ! -d "${run[2]}" ]; then
      die "aarch64 needs qemu and a C library: apt-get install qemu-user-static libc6-arm64-cross"
    fi
    ;;
esac
for tool in dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian; do
  command -v "${tool%:*}" >/dev/null || die "${tool%:*} is missing: apt-get install ${tool#*:}"
done
[ "$(dpkg --print-architecture)" = amd64 ] || die "this is made on amd64 alone"

executable=${DDPRUN_EXECUTABLE:-}
if [ -z "$executable" ]; then
  "$project/packaging/binary.sh" --arch "$arch"
  executable=$(binary_of "$arch")
  export DDPRUN_GLIBC=$glibc
fi

scratch=$(mktemp -d)
trap 'end_steps 2>/dev/null; rm -rf "$scratch"' EXIT
stage=$scratch/ddprun
files=$stage/files

# The worker SDK as sources: what is in git, without what is for this project's own build alone. Its examples
# lie elsewhere.
stage_sdk() {
  local file
  mkdir -p "$files/sdk" "$files/cmake"
  (cd "$project" && git ls-files worker_sdk cmake/DdprunTorch.cmake) |
    grep -vE '^worker_sdk/(python|examples)/|/README.md$|^worker_sdk/install.cmake$' |
    while read -r file; do install -D -m 644 "$project/$file" "$files/sdk/$file"; done
  mkdir -p "$files/examples"
  (cd "$project" && git ls-files worker_sdk/examples) |
    while read -r file; do install -m 644 "$project/$file" "$files/examples/"; done
  sed "s/@VERSION@/$version/" "$project/cmake/sdk_sources/CMakeLists.txt" >"$files/sdk/CMakeLists.txt"
  cp "$project/cmake/sdk_sources/ddprunConfig.cmake" "$files/cmake/"
  sed "s/@VERSION@/$version/" "$project/cmake/sdk_sources/ddprunConfigVersion.cmake" \
    >"$files/cmake/ddprunConfigVersion.cmake"
}

build() {
  mkdir -p "$files"
  cp -r "$project/packaging/debian" "$stage/"
  cp "$project/packaging/copyright" "$stage/debian/"
  "$project/packaging/debian_changelog.py" "$version" \
    "$(sed -n 's/^Maintainer: //p' "$stage/debian/control")" >"$stage/debian/changelog"
  install -m 755 "$executable" "$files/ddprun"
  "${run[@]}" "$files/ddprun" --man >"$files/ddprun.1"
  mkdir "$files/bash"
  "${run[@]}" "$files/ddprun" --completion bash >"$files/bash/ddprun"
  "${run[@]}" "$files/ddprun" --completion zsh >"$files/_ddprun"
  "${run[@]}" "$files/ddprun" --completion fish >"$files/ddprun.fish"
  install -D -m 644 "$stage/debian/ddprun-server.default" "$files/default/ddprun-server"
  stage_sdk
  cd "$stage"
  dpkg-buildpackage --host-arch "$debian_arch" --build="$kinds" --no-sign --no-check-builddeps
}
kinds=any # packages of this processor alone
[ "$arch" != x86_64 ] || kinds=any,all
step "building" build

packages=("$scratch/ddprun_${version}_$debian_arch.deb")
[ "$arch" != x86_64 ] || packages+=("$scratch/libddprun-dev_${version}_all.deb")
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "${packages[@]}" || die "lintian complains, see above"
mkdir -p "$dist"
mv "${packages[@]}" "$dist/"
for package in "${packages[@]}"; do say "done: $dist/${package##*/}"; done
