// Introspection: watches over this node's workers while a round runs. It looks at each of them
// again and again, tells what has changed, and finds out what all of them do when it is asked to.
//
// One thread, that of the event loop, calls it.
#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/introspection/debug_orders.hpp"
#include "agent/introspection/inspector.hpp"
#include "agent/introspection/watch_folder.hpp"
#include "agent/introspection/worker_watch.hpp"
#include "base/asio.hpp"
#include "base/result.hpp"

namespace ddprun {

/// What the agent knows of a worker of the round by now.
struct WatchedProcess {
  pid_t pid = 0;  // 0: it has not started yet
  Ending ending = Ending::kNone;
};

class Introspection {
 public:
  struct Sources {
    std::function<WatchedProcess(int local_rank)> process;
    /// Adds what the worker has reported by itself: its step, loss and the like.
    std::function<void(int local_rank, WorkerLook& look)> add_reported;
    std::function<void(const RankProgress& progress)> changed;
    /// The worker has entered collectives. Their times are those of Clock.
    std::function<void(Arrivals arrivals)> arrived;
    /// Other workers than before are debugged, or wait for a debugger: all of them.
    std::function<void(std::vector<DebuggedRank> ranks)> debuggers_changed;
  };

  /// `folder` is where workers open what lets one look into them; nullopt: they are only watched by
  /// what they tell by themselves.
  Introspection(const asio::any_io_executor& executor, std::optional<WatchFolder> folder,
                LookIntervals intervals, Sources sources);
  Introspection(const Introspection&) = delete;
  ~Introspection();

  /// The folder of the hook; "" without one.
  std::string folder() const;

  /// Watches the workers of a round from now on, whose ranks are these; -1: the worker is beside
  /// the round, and nothing is reported of it. To be called before they start: what an earlier
  /// round has left in the folder is removed.
  void begin_round(int round, const std::vector<int>& ranks);
  /// Watches the same workers in another round; that of each local rank in `fresh` is another
  /// process.
  void go_on_in_round(int round, const std::vector<int>& ranks, const std::vector<int>& fresh);
  void end_round();
  /// Reads at once what the workers have reported by themselves: their round may be about to end.
  void look_again();

  /// What the workers do. It takes at most `patience`, so that of very many some may be left out.
  /// The ranks `first` come first; a sample is of these alone, and has only those that sleep by
  /// themselves. See Inspector::find_out() and fold(). It may be called again before it has ended:
  /// then a worker is looked at once for both.
  asio::awaitable<std::vector<StackGroup>> inspect(std::vector<int> first, Depth depth,
                                                   std::chrono::milliseconds patience);

  struct Debugged {
    pid_t pid = 0;
    bool has_python = false;  // the debugger is opened by order, and connects to its user's command
  };
  /// Somebody looks into the worker of that rank with a debugger, until end_debugging(). Errors:
  /// kNotFound: no worker of this node has that rank, or it does not run; kUnavailable: somebody
  /// does already.
  Result<Debugged> begin_debugging(int rank, const OpenDebugger& order);
  /// Stops it again, where it runs on in its debugger.
  void interrupt_debugged(int rank);
  void end_debugging(int rank);
  /// How long torch's process groups of all workers wait: as long as a debugger may take, or as
  /// before.
  void set_group_timeouts(bool extended);

 private:
  struct Looking;
  struct Watched;
  std::shared_ptr<Watched> begin_to_watch(int local_rank, std::string name, WorkerWatch changes);
  asio::awaitable<void> watch(std::shared_ptr<Watched> worker);
  void tell(const RankProgress& progress) const;
  std::shared_ptr<Watched> watched_with(int rank) const;
  void give(const std::shared_ptr<Watched>& worker, const DebugOrder& order);
  void note_wait(Watched& worker);
  void tell_debuggers();
  void tell_arrivals(Watched& worker, std::int64_t second, WorkerLook look) const;
  struct Round;
  asio::awaitable<void> find_out(std::shared_ptr<Round> round);
  asio::awaitable<WorkerFinding> look_into(std::shared_ptr<Watched> worker, pid_t pid, Depth depth,
                                           TimePoint ends);

  asio::any_io_executor executor_;
  std::optional<WatchFolder> folder_;
  LookIntervals intervals_;
  StrainWatch strains_;
  Sources sources_;
  std::vector<std::shared_ptr<Watched>> workers_;
  std::vector<DebuggedRank> told_debugged_;
};

}  // namespace ddprun
