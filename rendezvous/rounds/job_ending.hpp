// JobEnding decides how long nodes stay after the job's end. Pure.
//
// All nodes end alike, also when the coordinator is lost while it ends the job. So an end may be
// held: every agent says that it has heard of it, and stays until all have.
// docs/internals/succession.md, section "How a job ends".
#pragma once

#include <chrono>
#include <optional>
#include <set>

#include "rendezvous/leadership/leadership.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/job_state.hpp"

namespace ddprun {

/// All nodes have this long to acknowledge the job's end, before their connections are closed.
inline constexpr std::chrono::milliseconds kEndingPatience{1'000};
/// They have this long if a node that has not done so cannot learn it elsewhere: an etcd keeps the
/// end for as long, once it knows it.
inline constexpr std::chrono::milliseconds kUntoldEndPatience{60'000};

class JobEnding {
 public:
  /// Whether the job is over, although some nodes may not know it yet.
  bool is_over() const { return state_ != State::kNo; }
  /// Whether all know it, or have had their time.
  bool is_complete() const { return state_ == State::kComplete; }

  /// Tells all nodes that the job ends so. `held`: they stay until all have heard it. `all_here`:
  /// no node of the last round is missing.
  void begin(const EndJob& verdict, bool held, bool all_here, const Roster& nodes, Outbox& out,
             TimePoint now);
  /// A node that comes while the end is held hears it, and stays until all have.
  void tell(const Roster::Node& node, const EndJob& verdict, Outbox& out);
  /// The node has heard it.
  void acknowledge(const Roster::Node& node);
  /// The node is gone, and may not have heard it.
  void lose(const Roster::Node& node);
  /// Lets nodes go when all have heard it, or the time is over. `is_remembered`: who has not heard
  /// it finds out later.
  void advance(bool is_remembered, const Roster& nodes, Outbox& out, TimePoint now);
  std::optional<TimePoint> next_due() const {
    return state_ == State::kHeld ? std::optional{due_} : std::nullopt;
  }

 private:
  enum class State { kNo, kHeld, kComplete };
  State state_ = State::kNo;
  std::set<NodeId> unaware_;  // nodes that are here, and may not know it
  bool was_missed_ = false;   // a node that is gone may not know it
  TimePoint begun_;
  TimePoint due_;
};

/// Whether the failure may be the scheduler's doing. Schedulers send their warning to every
/// process, and a worker that does not handle the signal may die of it before its agent reports the
/// warning.
bool may_be_schedulers_doing(const EndJob& verdict);

/// A coordinator that has been elected ends the job as the one before had, unless it has begun a
/// round before it heard of that. A node that knows an earlier round only is not believed.
void adopt_final_status(JobState& job, const Roster& nodes, const Leadership& leadership);

}  // namespace ddprun
