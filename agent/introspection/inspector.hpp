// Inspector: looks at one worker, from outside and through torch's worker server in it. It decides
// nothing of what that means: see worker_watch.hpp and worker_finding.hpp.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "agent/introspection/debug_orders.hpp"
#include "agent/introspection/flight_recorder.hpp"
#include "agent/introspection/strain_watch.hpp"
#include "agent/introspection/watch_folder.hpp"
#include "agent/introspection/worker_finding.hpp"
#include "agent/introspection/worker_watch.hpp"
#include "base/asio.hpp"
#include "base/clock.hpp"

namespace ddprun {

/// What finding out where a worker is may cost it.
enum class Depth {
  /// Next to nothing, so that it may be done again and again: one that runs is not asked, and no
  /// tool stops it.
  kSample,
  kLook,
  kDisturb  // it is stopped afterwards, so that a signal may interrupt its native code
};

/// What can be seen of a worker without asking it for anything.
WorkerFinding seen_from_outside(int rank, pid_t pid);

class Inspector {
 public:
  /// Looks into the worker whose files in `folder` have that name. `folder` and `strains` outlive
  /// it.
  Inspector(const WatchFolder& folder, StrainWatch& strains, std::string name, int rank)
      : folder_{folder}, strains_{strains}, name_{std::move(name)}, rank_{rank} {}

  /// A deep look: how far its process groups are, whether it waits in the store, and what its
  /// processes from `pid` on have used of the CPU.
  asio::awaitable<WorkerLook> look(pid_t pid);

  /// The process in which a debugger can be opened: that of Python. nullopt: there is none, or not
  /// yet.
  std::optional<pid_t> debugged_process();
  /// Gives that process an order. A worker in native code carries it out when it comes back.
  asio::awaitable<void> give(DebugOrder order);
  /// What the worker waits for a debugger with; nullopt: it does not.
  std::optional<DebuggedRank> wait_for_debugger() const;

  /// Finds out where it is and what it waits for. `idle`: see RankProgress. Whatever it finds later
  /// than `ends` is of no use.
  asio::awaitable<WorkerFinding> find_out(pid_t pid, bool idle, Depth depth, TimePoint ends);

 private:
  asio::awaitable<std::string> trace();
  asio::awaitable<Frames> stacks_by_server(WorkerFinding& finding);
  asio::awaitable<std::optional<PendingCollective>> pending();
  asio::awaitable<Frames> stacks_by_signals(pid_t pid);
  asio::awaitable<Frames> stacks_by_signal(pid_t pid, int signal);
  asio::awaitable<void> look_at_data_loaders(pid_t pid, bool ask, WorkerFinding& finding);
  bool find_files();

  const WatchFolder& folder_;
  StrainWatch& strains_;
  std::string name_;
  int rank_;
  WatchFolder::Opened files_;
  GroupNames names_;
  int asking_ = 0;            // pending questions for its stack
  bool no_recorder_ = false;  // this torch is too old to tell its trace
};

}  // namespace ddprun
