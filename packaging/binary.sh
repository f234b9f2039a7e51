#!/usr/bin/env bash
# Makes the executable that runs anywhere: dist/ddprun-VERSION-linux-ARCH.
#   binary.sh [--arch x86_64|aarch64]
# It needs glibc 2.17 or newer and nothing else: everything but the C library is linked in. musl would
# not need even that, but finds neither users nor hosts by what /etc/nsswitch.conf names, such as
# sssd, LDAP or systemd's own host names. zig has glibc's stubs for any version and processor.
. "$(dirname "$0")/openssl.sh"

read_arch "$@"
step packages "$project/scripts/setup-packages" package

exec {lock}>"$parts/lock" # two recipes that run at a time share what they fetch
flock "$lock"
step "compiler and headers" "$project/packaging/toolchain.py" cmake --compiler zig --arch "$arch"
toolchain=$("$project/packaging/toolchain.py" cmake --compiler zig --arch "$arch")
tools=$(sed -n 's/^set(CMAKE_C_COMPILER "\(.*\)\/cc")/\1/p' "$toolchain")
headers=$(sed -n 's/^set(CMAKE_FIND_ROOT_PATH "\(.*\)")/\1/p' "$toolchain")
step "OpenSSL's sources" "$project/packaging/parts.py" folder sources
build_openssl "$arch"
flock -u "$lock"

build=$project/build/package-$arch
# zig knows no -Oz of its own, which makes 7 % less code than -Os. If the linker sees the whole program as one
# (-flto), another 14 % go, as measured with 10 MB. Functions with the same code become one: 3 % of 7 MB.
flags=(-Xclang -Oz -Xclang -fmerge-functions -flto=full -DNDEBUG -g0 -ffunction-sections -fdata-sections
  "-ffile-prefix-map=$project=ddprun" "-ffile-prefix-map=$headers=headers/usr")
make_ddprun() {
  cmake -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DDDPRUN_SDK=OFF -DDDPRUN_TESTS=OFF -DDDPRUN_UNITY=ON -DDDPRUN_PRECOMPILED=OFF -DDDPRUN_PACKS_RELOCATIONS=OFF \
    -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
    -DCMAKE_CXX_FLAGS_RELEASE="-Os ${flags[*]}" -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_EXE_LINKER_FLAGS="-pie -s -Wl,--build-id=none -Wl,--gc-sections" \
    -DOPENSSL_INCLUDE_DIR="$openssl/include" \
    -DOPENSSL_CRYPTO_LIBRARY="$openssl/lib/libcrypto.a" \
    -DOPENSSL_SSL_LIBRARY="$openssl/lib/libssl.a"
  cmake --build "$build" --target ddprun
}
step "ddprun for $arch" make_ddprun

# What the file promises is read from the file.
readelf --version-info --wide "$build/ddprun" | grep -oE 'GLIBC_[0-9.]+' | sort -uV >"$build/needs"
newest=$(tail -n 1 "$build/needs")
[ "$(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -n 1)" = "GLIBC_$glibc" ] ||
  die "the executable needs $newest, expected GLIBC_$glibc at most"
size=$(stat -c %s "$build/ddprun")
# The aim is 6,000,000. OpenSSL has 1.7 MB of it; addresses that the loader moves, 0.6; tables for exceptions, 0.8.
[ "$size" -le 7000000 ] || die "the executable has $size bytes, expected 7,000,000 at most"
if grep -qaF -e "$project" -e "$cache" "$build/ddprun"; then
  die "the executable has a path of this machine in it: another machine would make other bytes"
fi
mkdir -p "$dist"
install -m 755 "$build/ddprun" "$(binary_of "$arch")"
say "$(binary_of "$arch"): $size bytes, needs ${newest/_/ }"
