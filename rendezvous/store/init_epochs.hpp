// InitEpochs tells which of a process's process groups a store connection belongs to.
//
// torch uses the same keys, all under "/default_pg/", for every init_process_group() of a
// process: a second one in the same store would meet the first one's addresses. So the keys of
// the k-th init are kept in a space of their own. A process is known by its address and the
// process id it sends with PING; its k-th connection that announces itself as one of
// init_process_group() (ADD "init/") and then uses such a key is its k-th init.
//
// That is sound only while processes come and go together. So each epoch takes exactly as many
// processes as the round has ranks, and a process leaves one only when it is full: an init is
// over for one rank only when all ranks took part. Whatever does not fit (two processes that
// look like one because they have the same id in different containers behind one address, a
// group of fewer ranks, a child process that replaces a rank) ends the separation for the
// rest of the round: all later connections share the newest epoch, as they would share one space
// in torch's own server.
//
// torch before 2.5 sends no PING, so its processes look the same. Its inits fill one epoch after
// the other: when as many as the round has ranks have entered, the next one begins another.
//
// Once every process has gone on from an epoch and no connection serves it, no process can reach
// its keys any more, and they may be erased.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {

/// A process that uses the store, as far as the server can tell it from others.
struct StoreProcess {
  std::string address;
  std::uint32_t pid = 0;  // sent with PING; 0: it has sent none
  auto operator<=>(const StoreProcess&) const = default;
};

class InitEpochs {
 public:
  /// The epochs of a round of `world_size` ranks. 0: the number is not known, and nothing is kept
  /// apart.
  explicit InitEpochs(std::size_t world_size = 0) : world_size_{world_size} {}

  /// Whether keys are kept apart at all.
  bool separate() const { return world_size_ > 0; }
  /// Whether the separation has ended for the rest of the round.
  bool sharing() const { return sharing_; }

  /// A connection of init_process_group() uses its first key. Returns the epoch it belongs to.
  std::uint32_t enter(const StoreProcess& process);

  /// Returns the epoch of any other connection of `process`.
  std::uint32_t current(const StoreProcess& process) const;

  /// A connection begins to use `epoch`, and no longer does.
  void use(std::uint32_t epoch) { ++users_[epoch]; }
  void release(std::uint32_t epoch);

  /// Returns the epochs that no process can reach any more, each once.
  std::vector<std::uint32_t> take_abandoned() { return std::exchange(abandoned_, {}); }

 private:
  std::uint32_t enter_nameless();
  void move(std::map<StoreProcess, std::uint32_t>::iterator process, std::uint32_t epoch);

  std::uint32_t newest() const { return static_cast<std::uint32_t>(members_.size()); }
  bool full(std::uint32_t epoch) const { return members_[epoch - 1] >= world_size_; }

  std::size_t world_size_;
  bool sharing_ = false;
  std::vector<std::size_t> members_ = {0};        // how many have entered epoch 1, 2, ...
  std::map<StoreProcess, std::uint32_t> epochs_;  // the latest one of each process
  std::map<std::uint32_t, std::size_t> users_;    // how many processes and connections use each
  std::vector<std::uint32_t> abandoned_;
};

}  // namespace ddprun
