# shellcheck shell=bash
# Fetches what the packaged executable is made from, as parts.list pins it, and builds OpenSSL. All of
# it lies in the cache, under names that say what it was made of. It is sourced, not run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

parts=$cache/packaging
list=$project/packaging/parts.list
mkdir -p "$parts"

# pin NAME: sets $pinned and $sum to the version and the sum that parts.list has for it.
pin() {
  read -r _ _ pinned sum < <(grep -E "^[a-z]+ $1 " "$list") || die "$list has no $1"
}

# short_sum: a name for what it reads.
short_sum() { sha256sum | cut -c 1-12; }

# fetch NAME FILE COMMAND...: runs the command in a new folder, where it leaves such a FILE, and checks
# its sum. Afterwards it is $parts/NAME-VERSION.
fetch() {
  local name=$1 file=$2 got
  pin "$name"
  [ ! -e "$parts/$name-$pinned" ] || return 0
  rm -rf "$parts/new"
  mkdir -p "$parts/new"
  (cd "$parts/new" && "${@:3}" >log 2>&1) || {
    cat "$parts/new/log" >&2
    die "$name $pinned was not to be had. Where the archive has a newer one, put that into $list"
  }
  got=$(find "$parts/new" -name "$file")
  echo "$sum  $got" | sha256sum --check --quiet || die "$name $pinned is not the file that $list pins"
  mv "$got" "$parts/$name-$pinned"
  rm -rf "$parts/new"
}

# fetch_zig: sets $zig to the compiler.
fetch_zig() {
  pin ziglang
  zig=$parts/zig-$pinned/ziglang/zig
  fetch ziglang 'ziglang-*.whl' python3 -m pip download -q --no-deps "ziglang==$pinned"
  [ ! -e "$zig" ] || return 0
  rm -rf "$parts/zig.new"
  python3 -m zipfile -e "$parts/ziglang-$pinned" "$parts/zig.new"
  chmod +x "$parts/zig.new/ziglang/zig"
  mv "$parts/zig.new" "$parts/zig-$pinned"
}

# fetch_headers: sets $headers to a folder with those of Boost, CLI11, fmt, nlohmann and spdlog.
fetch_headers() {
  local name
  headers=$parts/headers-$(grep '^deb ' "$list" | short_sum)
  [ ! -e "$headers" ] || return 0
  rm -rf "$parts/headers.new"
  while read -r _ name _; do
    pin "$name"
    fetch "$name" '*.deb' apt-get download -q "$name=$pinned"
    dpkg -x "$parts/$name-$pinned" "$parts/headers.new"
  done < <(grep '^deb ' "$list")
  mv "$parts/headers.new" "$headers"
}

# fetch_openssl: the archive of its sources, by a list of our own that has Debian's source packages.
fetch_openssl() {
  pin openssl
  local sources=$parts/apt/sources.list lists=$parts/apt/lists suite
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg
  mkdir -p "$lists/partial"
  for suite in debian:bookworm debian-security:bookworm-security; do
    echo "deb-src [signed-by=$keys] http://deb.debian.org/${suite%:*} ${suite#*:} main"
  done >"$sources"
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$sources" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$lists")
  fetch openssl 'openssl_*.orig.tar.gz' download_openssl
}
download_openssl() {
  "${apt[@]}" update
  "${apt[@]}" --download-only --tar-only source "openssl=$pinned"
}

# tools TARGET: sets $tools to a folder with cc, c++, ar and ranlib that make programs for it, such as
# x86_64-linux-gnu.2.17.
tools() {
  tools=$parts/tools-$1
  mkdir -p "$tools"
  export ZIG_GLOBAL_CACHE_DIR=$parts/zig-cache ZIG_LOCAL_CACHE_DIR=$parts/zig-cache
  local name
  for name in cc c++; do
    printf '#!/bin/sh\nexec %s %s -target %s "$@"\n' "$zig" "$name" "$1" >"$tools/$name"
  done
  for name in ar ranlib; do
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$zig" "$name" >"$tools/$name"
  done
  chmod +x "$tools"/*
}

# OpenSSL's own names for processors. Of its many algorithms TLS 1.3 with a key of both sides stays.
openssl_target() { case $1 in x86_64) echo linux-x86_64 ;; aarch64) echo linux-aarch64 ;; esac; }
openssl_options=(no-shared no-module no-dso no-engine no-static-engine no-legacy no-tests
  no-autoload-config no-async no-comp no-filenames no-ui-console no-afalgeng no-padlockeng
  no-ssl3 no-tls1 no-tls1_1 no-tls1_2 no-dtls no-sctp no-srp no-srtp no-nextprotoneg no-ssl-trace
  no-weak-ssl-ciphers no-multiblock no-cmp no-cms no-ct no-ocsp no-ts no-rfc3779 no-gost no-dsa no-dh no-ec2m
  no-aria no-bf no-blake2 no-camellia no-cast no-chacha no-cmac no-des no-idea no-md4 no-mdc2 no-ocb
  no-poly1305 no-rc2 no-rc4 no-rc5 no-rmd160 no-scrypt no-seed no-siphash no-siv no-sm2 no-sm3 no-sm4
  no-whirlpool)

# build_openssl ARCH: sets $openssl to a folder with its headers and static libraries, made with
# $tools. Its paths are those of a system: none of this machine gets into the libraries.
build_openssl() {
  local recipe work=$parts/openssl.new
  recipe=$({ grep -E ' (ziglang|openssl) ' "$list" && cat "$tools/cc" && declare -f make_openssl &&
    echo "${openssl_options[@]}"; } | short_sum)
  openssl=$parts/openssl-$1-$recipe
  [ ! -e "$openssl" ] || return 0
  rm -rf "$work"
  mkdir -p "$work/lib"
  pin openssl
  tar -C "$work" -xf "$parts/openssl-$pinned" --strip-components=1
  step "OpenSSL for $1" make_openssl "$1" "$work"
  mkdir -p "$openssl.new/lib"
  cp -r "$work/include" "$openssl.new/"
  cp "$work"/lib{ssl,crypto}.a "$openssl.new/lib/"
  rm -rf "$work"
  mv "$openssl.new" "$openssl"
}

make_openssl() { # ARCH FOLDER
  cd "$2"
  CC=$tools/cc AR=$tools/ar RANLIB=$tools/ranlib ./Configure "$(openssl_target "$1")" \
    --prefix=/usr --libdir=lib --openssldir=/usr/lib/ssl "${openssl_options[@]}" \
    -Os -Xclang -Oz -fno-asynchronous-unwind-tables -fno-unwind-tables -ffunction-sections -fdata-sections \
    "-ffile-prefix-map=$2=openssl"
  make -j"$(nproc)" build_generated libcrypto.a libssl.a
}
