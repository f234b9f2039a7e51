# shellcheck shell=bash
# Builds the OpenSSL of the packaged executable: what TLS 1.3 with a pre-shared key needs, and little more. It is
# sourced, not run, with $tools set to a folder with cc, ar and ranlib.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

parts=$cache/parts
mkdir -p "$parts"

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
  local sources recipe work=$parts/openssl.new
  sources=$("$project/packaging/parts.py" folder sources)
  recipe=$({ echo "$sources" && cat "$tools/cc" && declare -f make_openssl && echo "${openssl_options[@]}"; } |
    sha256sum | cut -c 1-12)
  openssl=$parts/small-openssl-$1-$recipe
  [ ! -e "$openssl" ] || return 0
  rm -rf "$work"
  mkdir -p "$work/lib"
  tar -C "$work" -xf "$sources"/openssl_*.tar.gz --strip-components=1
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
