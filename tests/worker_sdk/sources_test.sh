#!/usr/bin/env bash
# The SDK as sources, in somebody else's project: the GPT of the examples, with a LibTorch for the CPU alone
# and with an archive's. It compiles the SDK twice, which takes minutes, so nobody calls it but people:
#     sources_test.sh PATH_OF_DDPRUN CMAKE COMPILER
. "$(dirname "$0")/../system/lib.sh"
. "$(dirname "$0")/libtorch_layouts.sh"
cmake=$2 compiler=$3
repository=$(realpath "$(dirname "$0")/../..")

# As packaging/deb.sh lays them out.
sources=$scratch/usr/share/ddprun/sdk
mkdir -p "$sources" "$scratch/usr/share/cmake"
cp -r "$repository/worker_sdk" "$sources/"
install -D -m 644 "$repository/cmake/DdprunTorch.cmake" "$sources/cmake/DdprunTorch.cmake"
sed 's/@VERSION@/0.1.0/' "$repository/cmake/sdk_sources/CMakeLists.txt" >"$sources/CMakeLists.txt"
cp -r "$repository/cmake/sdk_sources" "$scratch/usr/share/cmake/ddprun"
sed -i 's/@VERSION@/0.1.0/' "$scratch/usr/share/cmake/ddprun/ddprunConfigVersion.cmake"

trains() { # FOLDER LIBTORCH: the examples are built with it, and the GPT trains
  "$cmake" -S "$repository/worker_sdk/examples" -B "$1" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/usr" \
    -DCMAKE_CXX_COMPILER="$compiler" -DDDPRUN_TORCH_ENV="$2" "${@:3}" >"$scratch/out" 2>&1 || fail "cannot configure with $2"
  "$cmake" --build "$1" --target gpt >"$scratch/out" 2>&1 || fail "cannot build with $2"
  run 0 --standalone --nproc-per-node 2 --no-python "$1/gpt" --data "$repository/docs/sdk.md" \
    --steps 2 --log-every 1 --layers 1 --width 32 --batch-size 2
  says out "step 2/2 loss"
}

# An archive with CUDA has not all headers: those of the wheel stand for the CUDA toolkit's.
make_archive_layout "$scratch/libtorch"
trains "$scratch/with_archive" "$scratch/libtorch" \
  -DDDPRUN_FOLDER_OF_cuda_runtime_api_h="$(dirname "$wheel"/../nvidia/*/include/cuda_runtime_api.h)" \
  -DDDPRUN_FOLDER_OF_nccl_h="$wheel/../nvidia/nccl/include"

make_cpu_layout "$scratch/cpu" "$compiler"
trains "$scratch/with_cpu" "$scratch/cpu"
! ldd "$scratch/with_cpu/gpt" | grep -E 'libtorch_cuda|libc10_cuda' || fail "it has loaded CUDA"
echo "the GPT was built with an archive's LibTorch and with one for the CPU, and has trained with both"
