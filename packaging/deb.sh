#!/usr/bin/env bash
# Makes dist/ddprun_VERSION_amd64.deb, with the packaged executable, and dist/libddprun-dev_VERSION_all.deb,
# with the sources of the worker SDK, by debhelper. lintian has to be content with both.
# DDPRUN_EXECUTABLE packs that file instead of a fresh packaged executable.
. "$(dirname "$0")/lib.sh"

for tool in dpkg-buildpackage:dpkg-dev dh:debhelper lintian:lintian; do
  command -v "${tool%:*}" >/dev/null || die "${tool%:*} is missing: apt-get install ${tool#*:}"
done
[ "$(dpkg --print-architecture)" = amd64 ] || die "this is made on amd64 alone"

executable=${DDPRUN_EXECUTABLE:-}
if [ -z "$executable" ]; then
  "$project/packaging/binary.sh"
  executable=$(binary_of x86_64)
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
  "$files/ddprun" --man >"$files/ddprun.1"
  mkdir "$files/bash"
  "$files/ddprun" --completion bash >"$files/bash/ddprun"
  "$files/ddprun" --completion zsh >"$files/_ddprun"
  "$files/ddprun" --completion fish >"$files/ddprun.fish"
  install -D -m 644 "$stage/debian/ddprun-server.default" "$files/default/ddprun-server"
  stage_sdk
  cd "$stage"
  dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
}
step "building" build

packages=("$scratch/ddprun_${version}_amd64.deb" "$scratch/libddprun-dev_${version}_all.deb")
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "${packages[@]}" || die "lintian complains, see above"
mkdir -p "$dist"
mv "${packages[@]}" "$dist/"
for package in "${packages[@]}"; do say "done: $dist/${package##*/}"; done
