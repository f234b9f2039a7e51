// StoreKey: the name and the space under which a value is kept, and how tables find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rendezvous/store/sip_hash.hpp"

namespace ddprun {

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
