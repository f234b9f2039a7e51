// PeerParts: what a node does with parts of checkpoints for other nodes, and gets from them: it
// gives what it has in memory, keeps a copy of another node's part, and gets what it lacks.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/checkpoints/checkpoint_keeper.hpp"
#include "agent/checkpoints/gather_parts.hpp"
#include "agent/checkpoints/kept_folder.hpp"
#include "agent/checkpoints/part_server.hpp"
#include "base/result.hpp"
#include "base/system/left_behind.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"

namespace ddprun {

class PeerParts {
 public:
  /// `kept` must live longer.
  PeerParts(const asio::any_io_executor& executor, KeptFolder& kept, PeerTls tls);
  PeerParts(const PeerParts&) = delete;

  /// Gives others what is in memory, from now on. A failure is logged: then this node gives
  /// nothing.
  void open();
  /// What is in memory is another than before.
  void offer();
  /// Where others get it, and how much of theirs fits here.
  void describe(HeldCheckpoints& held) const;

  /// Gets the copy that an order asks for, and then calls `done` with whether it is here.
  void copy(const CheckpointOrder& order, std::function<void(bool)> done);
  /// No more copies are needed of what was saved so far.
  void give_up_copies();

  /// Gets what this node lacks of a checkpoint, and keeps that. Errors: those of gather_whole().
  asio::awaitable<Result<void>> gather(std::vector<PartSource> sources, int node);

 private:
  struct Wanted {
    PartSource source;
    Removed removed;
    std::function<void(bool)> done;
  };
  asio::awaitable<void> copy_all();
  asio::awaitable<Result<Snapshot>> copy_one(const Wanted& wanted);
  std::int64_t room() const;
  SnapshotsHere here() const;

  const asio::any_io_executor executor_;
  KeptFolder& kept_;
  const PeerTls tls_;
  std::unique_ptr<PartServer> server_;
  LeftBehindQueue gathering_;   // a thread for what workers wait for
  LeftBehindQueue copying_;     // for what nobody waits for
  std::shared_ptr<Pace> pace_;  // the copy's
  std::optional<Wanted> next_;  // the newest alone
  bool copies_ = false;         // copy_all() runs
  bool told_ = false;           // that a copy could not be made
};

}  // namespace ddprun
