# shellcheck shell=bash
# LibTorch as others have it, made out of the one in DDPRUN_TORCH_ENV. A test sources this file after
# tests/system/lib.sh.

wheel=$(echo "$DDPRUN_TORCH_ENV"/lib/python3*/site-packages/torch)
wheel_version=$(sed -n "s/^__version__ = '\(.*\)'/\1/p" "$wheel/version.py")

# make_archive_layout FOLDER: what an archive of pytorch.org unpacks to.
make_archive_layout() {
  mkdir "$1"
  ln -s "$wheel"/{bin,include,lib,share} "$1/"
  echo "$wheel_version" >"$1/build-version"
}

# make_cpu_layout FOLDER COMPILER: the same without CUDA: neither its libraries nor its headers, and a
# libtorch.so that does not name libtorch_cuda.so. libtorch_cpu.so is the wheel's: it loads CUDA's profiler,
# which one for the CPU alone would not, so LD_LIBRARY_PATH is set to where that lies.
make_cpu_layout() {
  local unwanted
  mkdir -p "$1/lib" "$1/share"
  cp -rs "$wheel/include" "$1/"
  for unwanted in c10/cuda ATen/cuda ATen/cudnn torch/csrc/distributed/c10d/cuda; do
    rm -r "$1/include/$unwanted"
  done
  ln -s "$wheel"/lib/{libc10.so,libtorch_cpu.so,libgomp.so.1} "$1/lib/"
  "$2" -shared -o "$1/lib/libtorch.so" -Wl,-soname,libtorch.so -Wl,--no-as-needed -L"$1/lib" -ltorch_cpu -lc10 \
    -Wl,--allow-shlib-undefined
  echo "${wheel_version%+*}+cpu" >"$1/build-version"
  LD_LIBRARY_PATH=$(echo "$wheel"/../nvidia/*/lib | tr ' ' :)
  export LD_LIBRARY_PATH
}
