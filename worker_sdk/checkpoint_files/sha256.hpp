// Sha256: the checksum of what a checkpoint holds, computed by OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct evp_md_ctx_st;

namespace ddprun::sdk {

/// Takes bytes piece by piece (https://docs.openssl.org/3.0/man3/EVP_DigestInit/). Errors:
/// std::runtime_error when OpenSSL has no SHA-256 to give.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* bytes, std::size_t size);

  /// Of all bytes taken so far: 64 hexadecimal digits, as sha256sum(1) writes them. Call it once,
  /// and nothing afterwards.
  std::string hex();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace ddprun::sdk
