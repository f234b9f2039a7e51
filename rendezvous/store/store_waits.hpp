// StoreWaits: which client waits for which keys.
//
// A client waits for a set of keys. Each is ticked off the first time it is written, and the client
// is ready when the last one is. The Store knows which keys exist already. To give up a wait takes
// time in proportion to its keys, however many others wait for the same ones.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "rendezvous/store/store_key.hpp"
#include "rendezvous/store/store_limits.hpp"

namespace ddprun {

using ClientId = std::uint64_t;

class StoreWaits {
 public:
  explicit StoreWaits(StoreBudget& budget) : budget_{budget} {}

  /// Lets `client` wait for all of `keys`, of which there is at least one, and no longer for what
  /// it waited for before. Errors: kUnavailable when the budget does not allow it.
  Result<void> park(ClientId client, std::span<const StoreKey> keys);
  bool waits(ClientId client) const { return waits_.contains(client); }

  /// Ends the wait of `client`, if it has one.
  void forget(ClientId client);

  /// Ends all waits.
  void clear();

  /// Ticks `key` off for everyone. The clients that become ready by it are added to `ready`, the
  /// one that has waited for `key` longest first.
  void tick_all(const StoreKey& key, std::vector<ClientId>& ready);

  /// Does what tick() does, but only until one client has become ready.
  void tick_until_one(const StoreKey& key, std::vector<ClientId>& ready);

 private:
  struct Wait;
  struct Tick;
  using Line = boost::intrusive::list<Tick, boost::intrusive::constant_time_size<false>>;
  using Lines = std::unordered_map<OwnedStoreKey, Line, StoreKeyHash, StoreKeyEqual>;
  struct Tick : boost::intrusive::list_base_hook<
                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    Wait* wait = nullptr;
    Lines::value_type* line = nullptr;
  };
  struct Wait {
    ClientId client;
    std::size_t outstanding;
    std::vector<Tick> ticks;
    std::size_t cost;
  };

  Wait& add(ClientId client, std::size_t keys, std::size_t cost);
  bool tick_first(Line& line, std::vector<ClientId>& ready);
  void end(Wait& wait);

  StoreBudget& budget_;
  Lines lines_;  // none is empty
  std::unordered_map<ClientId, Wait> waits_;
};

}  // namespace ddprun
