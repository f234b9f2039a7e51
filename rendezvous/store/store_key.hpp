// StoreKey: the name and the space under which a value is kept, and how tables find it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace ddprun {

/// SipHash: a hash whose collisions cannot be found without its key.
///
/// Clients choose the keys of the store. With a hash that they can compute they could choose
/// thousands of keys that fall into one bucket, and stop everybody else's training. The algorithm:
/// J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012).
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

/// A key as a client sends it, in one of the separate spaces the store keeps. Space 0 is common to
/// all; the same name in another space is another key.
struct StoreKey {
  std::string_view name;
  std::uint32_t space = 0;

  bool operator==(const StoreKey&) const = default;
};

/// Hashes a StoreKey, or anything that has one as key(), with a secret that clients cannot know.
struct StoreKeyHash {
  using is_transparent = void;
  std::size_t operator()(const StoreKey& key) const {
    static const SipKey secret = SipKey::random();
    return SipHash<1, 3>{secret}(key.name) + std::size_t{key.space} * 0x9E3779B97F4A7C15U;
  }
  template <typename Holder>
  std::size_t operator()(const Holder& holder) const {
    return (*this)(holder.key());
  }
};

/// Compares StoreKeys, or anything that has one as key().
struct StoreKeyEqual {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return key_of(a) == key_of(b);
  }

 private:
  static StoreKey key_of(const StoreKey& key) { return key; }
  template <typename Holder>
  static StoreKey key_of(const Holder& holder) {
    return holder.key();
  }
};

/// A key that owns its name, and so outlives the request that named it.
class OwnedStoreKey {
 public:
  explicit OwnedStoreKey(const StoreKey& key) : name_{key.name}, space_{key.space} {}
  StoreKey key() const { return {name_, space_}; }

 private:
  std::string name_;
  std::uint32_t space_;
};

}  // namespace ddprun
