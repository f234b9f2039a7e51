// The functions of this one algorithm, not those for any: the latter would bring all of libcrypto,
// and 1.4 MB of memory, into every process that links this.
#define OPENSSL_API_COMPAT 0x10101000L
#include "worker_sdk/checkpoint_files/sha256.hpp"

#include <openssl/sha.h>

#include <array>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

void check(int result) {
  if (result != 1) throw std::runtime_error{"OpenSSL cannot compute SHA-256"};
}

}  // namespace

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_{std::make_unique<State>()} { check(SHA256_Init(&state_->context)); }

Sha256::~Sha256() = default;

void Sha256::update(const void* bytes, std::size_t size) {
  check(SHA256_Update(&state_->context, bytes, size));
}

std::string Sha256::hex() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  check(SHA256_Final(digest.data(), &state_->context));
  std::string text;
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

}  // namespace ddprun::sdk
