#!/usr/bin/env bash
# The SDK as another project gets it: installed, found by find_package(), built against, and run.
#     install_test.sh PATH_OF_DDPRUN BUILD_FOLDER CMAKE COMPILER
. "$(dirname "$0")/../system/lib.sh"
. "$(dirname "$0")/libtorch_layouts.sh"
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

configure() { # configure PROJECT FOLDER OPTIONS...
  "$cmake" -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    "${@:3}" >"$scratch/out" 2>&1
}
build() { "$cmake" --build "$@" >"$scratch/out" 2>&1 || fail "cannot build $1"; }
meets() { # PROGRAM: its two ranks do
  run 0 --standalone --nproc-per-node 2 --no-python "$1"
  grep -qF 'the sum is 3, from [{"rank":0},{"rank":1}]' "$scratch/out" || fail "no such sum"
}

configure "$project" "$scratch/outside" || fail "cannot configure"
build "$scratch/outside"
meets "$scratch/outside/outside"

# The environment may be named. So may an unpacked archive of LibTorch, with the same objects. A folder
# without a PyTorch is an error, and an archive of another version a message with both versions.
configure "$project" "$scratch/named" -DDDPRUN_TORCH_ENV="$DDPRUN_TORCH_ENV" || fail "cannot name PyTorch"
make_archive_layout "$scratch/libtorch"
configure "$project" "$scratch/archive" -DDDPRUN_TORCH_ENV="$scratch/libtorch" || fail "cannot name LibTorch"
build "$scratch/archive"
readelf -d "$scratch/archive/outside" | grep -qF "[$scratch/libtorch/lib" || fail "it is linked with another LibTorch"
meets "$scratch/archive/outside"
unset DDPRUN_TORCH_ENV
mkdir "$scratch/empty"
! configure "$project" "$scratch/refused" -DDDPRUN_TORCH_ENV="$scratch/empty" || fail "found what is not there"
tr -s '\n ' ' ' <"$scratch/out" | grep -q "There is no PyTorch in '$scratch/empty'" ||
  fail "it does not say what is missing"
echo 2.11.0+other >"$scratch/libtorch/build-version"
! configure "$project" "$scratch/other" -DDDPRUN_TORCH_ENV="$scratch/libtorch" || fail "took another version"
tr -s '\n ' ' ' <"$scratch/out" | grep -qF "is PyTorch 2.11.0+other, and the SDK was built with" ||
  fail "it does not say that this is another version"

# The GPT of the examples, as it was installed, trains.
# To optimise it would take the compiler most of its time.
configure "$prefix/share/ddprun/examples" "$scratch/examples" -DCMAKE_BUILD_TYPE=None || fail "cannot configure the examples"
build "$scratch/examples" --target gpt
run 0 --standalone --nproc-per-node 2 --no-python "$scratch/examples/gpt" --data "$prefix/share/ddprun/examples/gpt.cpp" \
  --steps 2 --log-every 1 --layers 1 --width 32 --batch-size 2
says out "step 2/2 loss"
