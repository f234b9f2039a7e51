// Sha256: computes the checksum of a checkpoint's bytes, with OpenSSL.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace ddprun::sdk {

/// Takes the bytes piece by piece (https://docs.openssl.org/3.0/man3/SHA256_Init/). Errors of
/// all functions: std::runtime_error when OpenSSL cannot compute SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  /// Adds `size` bytes to those that are hashed.
  void update(const void* bytes, std::size_t size);

  /// Returns the hash of all bytes so far, in 64 hexadecimal digits as sha256sum(1) writes them.
  /// Call it once, and nothing afterwards.
  std::string hex();

 private:
  struct State;  // OpenSSL's
  std::unique_ptr<State> state_;
};

}  // namespace ddprun::sdk
