#include "worker_sdk/checkpoint_files/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace ddprun::sdk {

namespace {

void check(int result) {
  if (result != 1) throw std::runtime_error{"OpenSSL cannot compute SHA-256"};
}

}  // namespace

Sha256::Sha256() : context_{EVP_MD_CTX_new(), EVP_MD_CTX_free} {
  check(context_ ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0);
}

Sha256::~Sha256() = default;

void Sha256::update(const void* bytes, std::size_t size) {
  check(EVP_DigestUpdate(context_.get(), bytes, size));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size));
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += "0123456789abcdef"[digest[i] / 16];
    text += "0123456789abcdef"[digest[i] % 16];
  }
  return text;
}

}  // namespace ddprun::sdk
