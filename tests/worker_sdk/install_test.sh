#!/usr/bin/env bash
# The SDK as another project gets it: installed, found by find_package(), built against, and run.
#     install_test.sh PATH_OF_DDPRUN BUILD_FOLDER CMAKE COMPILER
. "$(dirname "$0")/../system/lib.sh"
build=$2 cmake=$3 compiler=$4
project=$(dirname "$0")/outside_project
prefix=$scratch/prefix

"$cmake" --install "$build" --component sdk --prefix "$prefix" >"$scratch/out" 2>&1 ||
  fail "cannot install"

# Programs see the public headers only.
[ -e "$prefix/include/ddprun/sdk.hpp" ] || fail "there is no include/ddprun/sdk.hpp"
[ "$(cd "$prefix/include" && find . -type f | sort)" = \
  "$(cd "$(dirname "$0")/../../worker_sdk/include" && find . -type f | sort)" ] ||
  fail "other headers are installed than those in worker_sdk/include: $(find "$prefix/include" -type f)"

configure() { # configure FOLDER OPTIONS...: of the outside project
  local folder=$1
  shift
  "$cmake" -S "$project" -B "$folder" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    "$@" >"$scratch/out" 2>&1
}

configure "$scratch/outside" || fail "cannot configure"
"$cmake" --build "$scratch/outside" >"$scratch/out" 2>&1 || fail "cannot build"
run 0 --standalone --nproc-per-node 2 --no-python "$scratch/outside/outside"
grep -qF 'the sum is 3, from [{"rank":0},{"rank":1}]' "$scratch/out" || fail "no such sum"

# The environment may be named, and one that has no PyTorch is said to have none.
configure "$scratch/named" -DDDPRUN_TORCH_ENV="$DDPRUN_TORCH_ENV" || fail "cannot name PyTorch"
unset DDPRUN_TORCH_ENV
mkdir "$scratch/empty"
! configure "$scratch/refused" -DDDPRUN_TORCH_ENV="$scratch/empty" || fail "found what is not there"
tr '\n' ' ' <"$scratch/out" | grep -q "There is no PyTorch in '$scratch/empty'" ||
  fail "it does not say what is missing"
