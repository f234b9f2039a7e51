# shellcheck shell=bash
# What all scripts share: where things are, and how they speak. Sourced, not run.
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
torch_version=${DDPRUN_TORCH_VERSION:-2.11.0}
cache=${DDPRUN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ddprun}
# Used by CMake and by the tests: the virtual environment that LibTorch comes from.
export DDPRUN_TORCH_ENV=${DDPRUN_TORCH_ENV:-$cache/torch-$torch_version}

me=$(basename "$0")
say() { printf '%s: %s\n' "$me" "$*"; }
die() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 1
}

# The worker SDK needs LibTorch, 5 GB: DDPRUN_SDK=OFF goes without.
sdk=${DDPRUN_SDK:-ON}
case $sdk in
  ON | OFF) ;;
  *) die "DDPRUN_SDK is '$sdk', expected ON or OFF" ;;
esac

# build_preset NAME: configures and builds what CMakePresets.json calls NAME.
build_preset() {
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  (cd "$project" && cmake --preset "$1" -DDDPRUN_SDK="$sdk" "${launcher[@]}" >/dev/null &&
    cmake --build --preset "$1")
}
