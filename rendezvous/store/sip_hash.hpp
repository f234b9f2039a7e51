// SipHash: a hash in which nobody without its key can find collisions.
//
// Clients choose the keys of the store. With a hash that they can compute they could choose
// thousands of keys that fall into one bucket, and stop everybody else's training. The algorithm:
// J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace ddprun {

struct SipKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  /// Returns a key that no client can know, from the system's random numbers.
  static SipKey random() {
    std::random_device device;
    const auto number = [&] { return std::uint64_t{device()} << 32 | device(); };
    return {number(), number()};
  }
};

/// SipHash with `kRounds` rounds for each 8 bytes and `kFinalRounds` at the end. The paper has 2
/// and 4; 1 and 3 are enough for tables, as in Rust's and Python's.
template <int kRounds, int kFinalRounds>
class SipHash {
 public:
  explicit SipHash(SipKey key)
      : v0_{key.first ^ 0x736f6d6570736575},
        v1_{key.second ^ 0x646f72616e646f6d},
        v2_{key.first ^ 0x6c7967656e657261},
        v3_{key.second ^ 0x7465646279746573} {}

  /// Returns the hash of `bytes`. An object computes one hash.
  std::uint64_t operator()(std::string_view bytes) && {
    const std::uint64_t size = bytes.size();
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) absorb(load(bytes.substr(0, 8)));
    absorb(load(bytes) | size << 56);
    v2_ ^= 0xff;
    mix(kFinalRounds);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  static std::uint64_t load(std::string_view bytes) {  // at most 8
    std::uint64_t word = 0;
    if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
    return word;
  }

  void absorb(std::uint64_t word) {
    v3_ ^= word;
    mix(kRounds);
    v0_ ^= word;
  }

  void mix(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      v0_ += v1_, v1_ = std::rotl(v1_, 13) ^ v0_, v0_ = std::rotl(v0_, 32);
      v2_ += v3_, v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ += v3_, v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ += v1_, v1_ = std::rotl(v1_, 17) ^ v2_, v2_ = std::rotl(v2_, 32);
    }
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace ddprun
