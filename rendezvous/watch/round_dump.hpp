// RoundDump: what all workers of the running round do at this moment, on request.
//
// There is one dump at a time. Requests that come meanwhile share its answer, so that many of them
// trouble the workers no more than one. It knows nothing of hangs: an inspection because of one has
// a number of its own, and goes on beside it.
//
// It is passive, as CoordinatorMachine is, which owns it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/messages/hang_report.hpp"
#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/job_status.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/watch/inspection.hpp"
#include "rendezvous/watch/progress_table.hpp"

namespace ddprun {

/// Agents have this long to look at their workers, and a little longer until the dump is made of
/// the answers that have come.
inline constexpr std::chrono::milliseconds kDumpPatience{2'000};
inline constexpr std::chrono::milliseconds kDumpTimeout{2'500};

class RoundDump {
 public:
  /// A node of the round.
  struct Seat {
    std::string host;
    int first_rank = 0;
    int workers = 0;
    bool finished = false;  // its workers have all ended well: there is nothing to look at
  };
  using Seats = std::map<NodeId, Seat>;
  using Askers = std::map<std::int64_t, int>;  // questions, by the connection of each

  bool under_way() const { return number_ > 0; }

  /// Notes who wants the answer. A newer question over the same connection replaces the older one.
  void add(std::int64_t peer, int question) { askers_[peer] = question; }

  /// Begins the one of that number, which no other inspection has. All nodes in `seats` that have
  /// not finished are to be asked now: it waits for them.
  void begin(int number, Seats seats, TimePoint now);

  bool waits_for(const NodeId& node) const { return waiting_for_.contains(node); }

  /// Notes an answer. One to another inspection is passed over, and so are more of them than a dump
  /// could show.
  void take(const NodeId& node, const Inspected& answer);

  /// The node is gone: its answer is not awaited any more.
  void forget(const NodeId& node) { waiting_for_.erase(node); }

  /// When the dump is made of what has come; at once when all have answered. TimePoint::max() if
  /// none was requested.
  TimePoint due() const;

  /// Ends the current one, and returns what all workers did. `table` knows the members of each
  /// group.
  JobDump finish(const ProgressTable& table, TimePoint now);

  bool has_askers() const { return !askers_.empty(); }
  /// Returns the callers that wait for it, and forgets them.
  Askers take_askers() { return std::exchange(askers_, {}); }

 private:
  void tell_unheard(JobDump& dump) const;

  int number_ = 0;  // the number of the current dump; 0: there is none
  Seats seats_;
  std::set<NodeId> waiting_for_;
  TimePoint begun_;
  std::vector<StackGroup> answers_;
  Askers askers_;
};

/// Where workers wait by their answers, and which ranks have not reached it: those that belong to
/// the group, as `table` knows, and do not wait in it. For the store, those are all that wait
/// nowhere. Waits with missing ranks come first.
std::vector<DumpWait> find_waits(const std::vector<StackGroup>& answers,
                                 const ProgressTable& table);

}  // namespace ddprun
