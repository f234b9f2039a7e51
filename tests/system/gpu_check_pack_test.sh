#!/usr/bin/env bash
# The folder of gpu-check --pack fits, and runs in a root that has no package of this system: Python with
# PyTorch, what these two need of the C library and its like, and nothing else.
#
#     CHECKS=all bash tests/system/gpu_check_pack_test.sh build/ddprun    # all that needs no GPU
. "$(dirname "$0")/lib.sh"

build=$(dirname "$(realpath "$DDPRUN")")
gpu_check=$(cd "$(dirname "$0")/../../scripts" && pwd)/gpu-check
need_sdk_torch # the packed programs are linked with it
memory_counts || skip "a bare machine has no libraries of sanitizers"
[ -x "$build/sdk_device_tests" ] || skip "built without the worker SDK"
[ "$(id -u)" = 0 ] || skip "only root may change the root folder"
unshare --mount true 2>/dev/null || skip "no mount namespaces here"
command -v readelf >/dev/null || skip "no readelf"

"$python" "$gpu_check" --pack --build "$build" "$scratch/pack" >"$scratch/out" 2>"$scratch/err" || fail "--pack"
bytes=$(du -sb "$scratch/pack" | cut -f 1)
[ "$bytes" -le $((64 * 1024 * 1024)) ] || fail "the folder has $bytes bytes"
says out "a Python with PyTorch"

# What Python and PyTorch need of this system, but nothing for the sake of the packed programs.
real=$(readlink -f "$python")
home=$("$python" -c 'import sys; print(sys.base_prefix)')
library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
torch=$("$python" -c 'import importlib.util; print(importlib.util.find_spec("torch").submodule_search_locations[0])')
root=$scratch/root
mkdir -p "$root"/{dev,proc,sys,tmp,opt/torch,opt/pack,usr/bin,lib64}
ldd "$real" "$library"/lib-dynload/*.so "$torch"/lib/libtorch*.so "$torch"/lib/libc10*.so 2>/dev/null |
  grep -oE '(=> )?/[^ ]+ \(' | grep -oE '/[^ ]+' | sort -u | grep -v "^$DDPRUN_TORCH_ENV" >"$scratch/libraries"
while read -r file; do
  mkdir -p "$root/$(dirname "$file")"
  cp -L "$file" "$root/$file"
done <"$scratch/libraries"

cat >"$scratch/enter.sh" <<'SH'
set -e
mount --bind "$ENVIRONMENT" "$ROOT/opt/torch"
mount --bind "$PACK" "$ROOT/opt/pack"
mount -t proc proc "$ROOT/proc"
mount -t sysfs -o ro sysfs "$ROOT/sys"
mount -t tmpfs tmpfs "$ROOT/tmp"
mount -t tmpfs tmpfs "$ROOT/dev"
mkdir "$ROOT/dev/shm"
for device in null zero urandom; do
  touch "$ROOT/dev/$device"
  mount --bind "/dev/$device" "$ROOT/dev/$device"
done
mkdir -p "$ROOT$HOME_OF_PYTHON" "$ROOT$LIBRARY" "$(dirname "$ROOT$PYTHON")"
# A Python with a folder of its own is taken whole; of the system's there are the program with its links (the
# environment leads to /usr/bin/python3, which leads to python3.13) and its modules.
case $HOME_OF_PYTHON in
  /usr) mount --bind "$LIBRARY" "$ROOT$LIBRARY"; cp -a "${PYTHON%.*}"* "$ROOT${PYTHON%/*}" ;;
  *) mount --bind "$HOME_OF_PYTHON" "$ROOT$HOME_OF_PYTHON" ;;
esac
exec chroot "$ROOT" /opt/torch/bin/python /opt/pack/gpu-check --cpu "$@" /tmp/report
SH
only=(--only "topology,numa,collectives,failures,warm")
[ "${CHECKS:-}" != all ] || only=()
code=0
env -i ENVIRONMENT="$DDPRUN_TORCH_ENV" PACK="$scratch/pack" ROOT="$root" HOME_OF_PYTHON="$home" \
  LIBRARY="$library" PYTHON="$real" PATH="$PATH" HOME=/tmp DDPRUN_TORCH_ENV=/opt/torch \
  unshare --mount --pid --fork --kill-child bash "$scratch/enter.sh" "${only[@]}" \
  >"$scratch/out" 2>"$scratch/err" || code=$?
[ "$code" = 0 ] || fail "gpu-check ends with $code in the bare root"
says out "all is well"
[ "$(grep -c 'passed' "$scratch/out")" -gt 20 ] || fail "hardly anything was checked"
[ "${CHECKS:-}" != all ] || cat "$scratch/out"
