// StoreTable: keys and their values, in little memory.
//
// Each pair is one heap block (sizes, key, value), and the table holds only pointers to them, so
// a small key costs some 50 bytes more than its text and its value. Waiting for keys is
// store_waits.hpp's.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/result.hpp"
#include "rendezvous/store/store_key.hpp"
#include "rendezvous/store/store_limits.hpp"

namespace ddprun {

/// A key and its value in one block.
class StoredPair {
 public:
  StoredPair(const StoreKey& key, std::string_view value);

  StoreKey key() const;
  std::string_view value() const;
  /// How much memory the pair takes, with its share of the table.
  std::size_t cost() const { return cost(sizes().key, sizes().value_capacity); }

  /// Returns the capacity that the value should have to hold `bytes`. While it is `growing` the
  /// capacity at least doubles, so that appending many small pieces takes linear time.
  std::uint32_t capacity_for(std::size_t bytes, bool growing) const;

  /// Sets the value, or adds to its end, in a block with that capacity for it.
  void assign(std::string_view value, std::uint32_t capacity) const;
  void append(std::string_view value, std::uint32_t capacity) const;

  static std::size_t cost(std::size_t key_bytes, std::size_t value_capacity);

 private:
  struct Sizes {
    std::uint32_t key;
    std::uint32_t value;
    std::uint32_t value_capacity;
    std::uint32_t space;
  };

  const Sizes& sizes() const { return *reinterpret_cast<const Sizes*>(block_.get()); }
  Sizes& sizes() { return *reinterpret_cast<Sizes*>(block_.get()); }
  char* value_begin() const { return block_.get() + sizeof(Sizes) + sizes().key; }
  void reallocate(std::uint32_t capacity, std::uint32_t bytes_kept) const;

  // A set gives out its elements as const; the key, by which they are found, never changes.
  mutable std::unique_ptr<char[]> block_;
};

class StoreTable {
 public:
  enum class Outcome { kCreated, kChanged };

  explicit StoreTable(StoreBudget& budget) : budget_{budget} {}

  /// The value is valid until the next change; nullopt when there is none.
  std::optional<std::string_view> find(const StoreKey& key) const;
  bool contains(const StoreKey& key) const { return pairs_.contains(key); }

  /// Sets a value, or adds to its end. Errors: kUnavailable when the budget does not allow it,
  /// kInvalid when the value would be too long; nothing has changed then. Throws std::bad_alloc
  /// when the system has no memory; nothing has changed then, either.
  Result<Outcome> put(const StoreKey& key, std::string_view value);
  Result<Outcome> append(const StoreKey& key, std::string_view value);

  /// Returns whether the key was there.
  bool erase(const StoreKey& key);
  void erase_space(std::uint32_t space);
  void clear();

  /// Returns how many keys a client of `space` sees: those of space 0 and its own.
  std::size_t size(std::uint32_t space) const;

  /// Calls `visitor` with the name of each key that a client of `space` sees.
  template <typename Visitor>
  void visit(std::uint32_t space, Visitor&& visitor) const {
    for (const StoredPair& pair : pairs_) {
      const StoreKey key = pair.key();
      if (key.space == 0 || key.space == space) visitor(key.name);
    }
  }

 private:
  using Pairs = boost::unordered_flat_set<StoredPair, StoreKeyHash, StoreKeyEqual>;

  Result<Outcome> create(const StoreKey& key, std::string_view value);
  /// Charges for a value of `bytes`, and calls `write` with the capacity that the pair has to have.
  template <typename Write>
  Result<Outcome> change(const StoredPair& pair, std::size_t bytes, bool growing, Write write);

  StoreBudget& budget_;
  Pairs pairs_;
  std::unordered_map<std::uint32_t, std::size_t> sizes_;  // by space
};

}  // namespace ddprun
