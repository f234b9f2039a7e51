// Store: the keys, values and queues that workers meet through, and who waits for them.
//
// It is passive: no socket, no clock, no bytes of a protocol. A client is a number here. An
// operation that lets waiting clients go on leaves them in take_ready(), the oldest first.
// An error means that the client who asked must go; the store itself is unchanged.
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
#include "rendezvous/store/store_budget.hpp"
#include "rendezvous/store/store_key.hpp"
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
    std::size_t length_before = 0;
    std::string value;  // empty when there was none
  };

  explicit Store(std::size_t memory_bytes_max);
  Store(const Store&) = delete;  // the table and the waits charge its budget
  Store& operator=(const Store&) = delete;

  Result<void> set(const StoreKey& key, std::string_view value);
  Result<void> multi_set(std::span<const Pair> pairs);  // all or nothing
  Result<void> append(const StoreKey& key, std::string_view value);

  /// The value afterwards. A missing key is created only where `expected` is empty; otherwise
  /// the answer is `expected`, as torch's server has it.
  Result<std::string_view> compare_set(const StoreKey& key, std::string_view expected,
                                       std::string_view desired);
  std::optional<std::string_view> get(const StoreKey& key) const;
  Result<std::int64_t> add(const StoreKey& key, std::int64_t amount);
  bool erase(const StoreKey& key);

  /// Queues live beside the keys: one of each may have the same name. Both count for waiting.
  Result<void> queue_push(const StoreKey& key, std::string_view value);
  Popped queue_pop(const StoreKey& key);
  std::size_t queue_length(const StoreKey& key) const;

  bool exists(std::span<const StoreKey> keys) const;

  /// True: all are there. False: `client` waits for those missing now, and no longer for what it
  /// waited for before.
  Result<bool> wait(ClientId client, std::span<const StoreKey> keys);

  /// Counts an arrival at `key`. True: `world_size` have arrived, and all of them go on.
  Result<bool> barrier(ClientId client, const StoreKey& key, std::int64_t world_size);
  void cancel_wait(ClientId client) { waits_.forget(client); }
  bool waits(ClientId client) const { return waits_.waits(client); }

  /// The keys that a client of `space` sees: those of space 0 and its own.
  std::size_t key_count(std::uint32_t space) const { return table_.size(space); }
  template <typename Visitor>
  void visit_keys(std::uint32_t space, Visitor&& visitor) const {
    table_.visit(space, std::forward<Visitor>(visitor));
  }

  /// Clients whose wait has ended since the last call.
  std::vector<ClientId> take_ready() { return std::exchange(ready_, {}); }
  bool has_ready() const { return !ready_.empty(); }

  /// All keys and queues of a space that nobody uses any more.
  void erase_space(std::uint32_t space);

  void clear();  // all keys, queues and waits

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
