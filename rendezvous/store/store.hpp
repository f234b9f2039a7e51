// Store: the keys, values and queues that workers meet through, and who waits for them. Its
// operations are those of torch's TCPStore server (TCPStore*.cpp in torch/csrc/distributed/c10d).
//
// It is passive: it has no socket and no clock, and does not know the protocol. A client is a
// number here. An operation that lets waiting clients go on leaves them in take_ready(), the oldest
// first. An error means that the client who asked must be closed; the store itself is unchanged
// then. All operations that can make it grow fail with kUnavailable when its memory is used up.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "rendezvous/store/store_key.hpp"
#include "rendezvous/store/store_limits.hpp"
#include "rendezvous/store/store_table.hpp"
#include "rendezvous/store/store_waits.hpp"

namespace ddprun {

class Store {
 public:
  struct Pair {
    StoreKey key;
    std::string_view value;
  };
  struct Popped {
    std::size_t length_before = 0;  // 0: the queue was empty, and there is no value
    std::string value;
  };

  /// A store for keys, values, queues and waits of `memory_bytes_max` bytes together, which also
  /// count in `whole` if it is given.
  explicit Store(std::size_t memory_bytes_max, std::shared_ptr<StoreBudget> whole = nullptr);
  Store(const Store&) = delete;  // the table and the waits charge its budget
  Store& operator=(const Store&) = delete;

  Result<void> set(const StoreKey& key, std::string_view value);

  /// Sets all pairs or, on an error, none.
  Result<void> multi_set(std::span<const Pair> pairs);

  /// Adds `value` to the end of the key's value. A missing key is created.
  Result<void> append(const StoreKey& key, std::string_view value);

  /// Sets the value to `desired` if it is `expected`, and returns the value afterwards. A missing
  /// key is created if `expected` is empty; otherwise the answer is `expected`, as torch's server
  /// has it.
  Result<std::string_view> compare_set(const StoreKey& key, std::string_view expected,
                                       std::string_view desired);

  /// The value is valid until the next change of the store; nullopt when there is none.
  std::optional<std::string_view> get(const StoreKey& key) const;

  /// Adds to the number that the value spells in decimal, and returns the sum, which wraps around.
  /// A missing key counts as 0. Errors: kInvalid when the value is no number.
  Result<std::int64_t> add(const StoreKey& key, std::int64_t amount);

  /// Returns whether the key was there.
  bool erase(const StoreKey& key);

  /// Adds to the end of a queue. Queues live beside the keys: one of each may have the same name,
  /// and either of them ends a wait for that name.
  Result<void> queue_push(const StoreKey& key, std::string_view value);
  /// Takes the first value of a queue.
  Popped queue_pop(const StoreKey& key);
  std::size_t queue_length(const StoreKey& key) const;

  /// Whether each of `keys` is the name of a key or of a queue that is not empty.
  bool exists(std::span<const StoreKey> keys) const;

  /// Returns true when all `keys` exist. Otherwise `client` waits for those that are missing now,
  /// and no longer for what it waited for before.
  Result<bool> wait(ClientId client, std::span<const StoreKey> keys);

  /// Counts an arrival at `key`. Returns true when `world_size` have arrived, and then everyone who
  /// waits there goes on; otherwise `client` waits.
  Result<bool> barrier(ClientId client, const StoreKey& key, std::int64_t world_size);
  /// Ends the wait of `client`, if it has one. It will not be in take_ready().
  void cancel_wait(ClientId client) { waits_.forget(client); }
  bool waits(ClientId client) const { return waits_.waits(client); }

  /// A client of `space` sees the keys of space 0 and of its own: how many these are, and
  /// `visitor(name)` for each of them.
  std::size_t key_count(std::uint32_t space) const { return table_.size(space); }
  template <typename Visitor>
  void visit_keys(std::uint32_t space, Visitor&& visitor) const {
    table_.visit(space, std::forward<Visitor>(visitor));
  }

  /// Returns the clients whose wait has ended since the last call, the oldest wait first.
  std::vector<ClientId> take_ready() { return std::exchange(ready_, {}); }
  bool has_ready() const { return !ready_.empty(); }

  /// Erases all keys and queues of a space that is no longer used.
  void erase_space(std::uint32_t space);

  /// Erases all keys, queues and waits.
  void clear();

  StoreBudget& budget() { return budget_; }
  const StoreBudget& budget() const { return budget_; }

 private:
  Result<void> written(const StoreKey& key, const Result<StoreTable::Outcome>& outcome);
  bool exists(const StoreKey& key) const;
  void release(const StoreKey& key, const std::deque<std::string>& queue);

  StoreBudget budget_;
  StoreTable table_;
  StoreWaits waits_;
  std::unordered_map<OwnedStoreKey, std::deque<std::string>, StoreKeyHash, StoreKeyEqual> queues_;
  std::vector<ClientId> ready_;
};

}  // namespace ddprun
