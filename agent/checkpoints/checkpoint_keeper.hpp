// CheckpointKeeper: keeps the checkpoints of a program that knows nothing of it. The program's
// folder is in memory while its workers run. Whenever a save has ended, a snapshot of the folder is
// taken, and written to disk in the background. Before workers start again, the folder is put back
// as the newest whole snapshot has it.
//
// LoneKeeper does that for a job on one node, and decides all by itself. SharedKeeper does it for
// one node of several: the coordinator says which snapshots count (JobCheckpoints).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "agent/checkpoints/checkpoint_news.hpp"
#include "agent/checkpoints/checkpoint_spec.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"
#include "rendezvous/messages/checkpoint_messages.hpp"
#include "rendezvous/messages/kept_checkpoints.hpp"
#include "rendezvous/transport/tls.hpp"

namespace ddprun {

/// Where folders in memory are.
inline constexpr char kMemoryFileSystem[] = "/dev/shm";

using CheckpointListener = std::function<void(const CheckpointNews&)>;

class CheckpointKeeper {
 public:
  /// A node's place in a round, and what that continues from.
  struct Round {
    int part = 0;
    int parts = 1;
    RoundCheckpoint checkpoint = {};
  };

  virtual ~CheckpointKeeper() = default;
  CheckpointKeeper() = default;
  CheckpointKeeper(const CheckpointKeeper&) = delete;
  CheckpointKeeper& operator=(const CheckpointKeeper&) = delete;

  /// Finds out what an earlier job has left in memory or on disk. Errors: kInvalid, kDenied,
  /// kUnavailable, kTimeout: then nothing has been changed.
  virtual asio::awaitable<Result<void>> begin() = 0;

  /// Workers are about to start: the folder is put back for them. Errors: kInvalid, kUnavailable,
  /// kTimeout.
  virtual asio::awaitable<Result<void>> begin_round(Round round) = 0;

  /// A worker was lost, or all are stopped: what they leave in the folder from now on may be half
  /// of a save.
  virtual void workers_end() = 0;

  /// No worker of the round is alive. If all have ended `well`, none was cut off while it saved.
  virtual asio::awaitable<void> end_round(bool well) = 0;

  /// The job has ended, or goes on without this node: what is kept is written to disk, and the
  /// program's folder leads there.
  virtual asio::awaitable<void> end(bool goes_on) = 0;

  /// Whether end() could write all that was kept.
  virtual bool has_written() const = 0;

  /// What is kept; nullopt: checkpoints are on disk alone.
  virtual std::optional<KeptCheckpoints> status() const = 0;

  /// end() need not write any more: what is in memory stays there for the next job.
  virtual void give_up_writing() = 0;

  // What nodes that keep their checkpoints together say and hear.
  using Speak = std::function<void(const CheckpointSaid&)>;
  virtual void speak_with(const Speak&) {}
  virtual void obey(const CheckpointOrder&) {}
  /// nullopt: nobody asks for it. The coordinator has to hear it whenever it has admitted this
  /// node, and before this one says that its workers have stopped.
  virtual std::optional<HeldCheckpoints> held() const { return std::nullopt; }
  /// A coordinator has admitted this node.
  virtual void joined() {}
};

/// `tls` is for the connections to other nodes.
std::unique_ptr<CheckpointKeeper> make_keeper(const asio::any_io_executor& executor,
                                              CheckpointSpec spec, CheckpointListener tell,
                                              PeerTls tls);

}  // namespace ddprun
