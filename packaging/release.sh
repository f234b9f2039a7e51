#!/usr/bin/env bash
# Builds ddprun as it was at a release, into the cache, for the test that runs it beside the new one.
#   release.sh             the last release: the nearest tag v* that HEAD comes from
#   release.sh TAG         that one, or any other commit
#   release.sh --path      builds nothing: prints where the last release is, or says why it is not there and
#                          ends with exit code 77
# It is built as scripts/build does it, with this machine's compiler and libraries: the test is about what
# it says to others, not about which file it is.
. "$(dirname "$0")/lib.sh"

# released TAG: prints the path, which has the commit in it, so that a tag that was moved is built anew.
released() {
  local commit
  commit=$(git -C "$project" rev-parse --verify --quiet --short=12 "$1^{commit}") ||
    die "'$1' is neither a tag nor a commit"
  echo "$cache/releases/ddprun-${1//\//-}-$commit"
}
last_tag() { git -C "$project" describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null; }

if [ "${1:-}" = --path ]; then
  tag=$(last_tag) || { say "there is no release yet: no tag v* leads to this commit" >&2; exit 77; }
  path=$(released "$tag")
  [ -x "$path" ] || { say "$tag is not built: scripts/package release" >&2; exit 77; }
  echo "$path"
  exit
fi

tag=${1:-$(last_tag)} || die "there is no release yet: no tag v* leads to this commit"
path=$(released "$tag")
if [ -x "$path" ]; then
  say "done before: $path"
  exit
fi
scratch=$(mktemp -d)
trap 'end_steps 2>/dev/null; rm -rf "$scratch"' EXIT

build() {
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  git -C "$project" archive "$tag^{commit}" | tar -x -C "$scratch"
  cd "$scratch"
  DDPRUN_COMMIT=$(git -C "$project" rev-parse --short=12 "$tag^{commit}")
  export DDPRUN_COMMIT
  cmake --preset release -DDDPRUN_SDK=OFF -DDDPRUN_TESTS=OFF "${launcher[@]}"
  cmake --build build --target ddprun
  mkdir -p "$cache/releases"
  strip -o "$path.new" build/ddprun
  mv "$path.new" "$path"
}
step "building $tag" build
say "done: $path"
