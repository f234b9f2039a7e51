// InPlace decides which rounds change in place: their workers stay, with their memory, while nodes
// and other workers come and go. Pure. docs/internals/rounds.md, section "In place", has the rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/failures.hpp"

namespace ddprun {

/// As many changes in a row are in place, with no further step of the workers behind them.
inline constexpr int kChangesInPlaceMax = 3;
/// A node whose workers are prepared waits this long for workers of the round that cannot stay yet.
inline constexpr std::chrono::seconds kJoinPatience{60};

/// StopAtStep: all workers of a round stop after the same step, so that no step is lost.
///
///     none --begin--> hold --all nodes hold--> last step
///       any --broken, or a node whose workers have not all left in order--> none
///
/// A node that holds reports the greatest number of steps that one of its workers has counted. No
/// worker counts another one before it gets the limit, which is one more than the greatest of
/// these: so all can reach it, and know it before they do.
class StopAtStep {
 public:
  StopAtStep(const Roster& nodes, Outbox& out) : nodes_{nodes}, out_{out} {}

  /// The order that the nodes which stop get.
  void begin(const StopRound& gently);
  /// A node holds, or cannot.
  void held(const Roster::Node& node, const Holding& report);
  /// A node has stopped its workers, and those that it has parked are known.
  void stopped(const Roster::Node& node);
  /// A member is lost: the current step is not waited for.
  void broken();
  /// All nodes have stopped.
  void end() { state_ = State::kNone; }

 private:
  enum class State { kNone, kHold, kLastStep };

  const Roster& nodes_;
  Outbox& out_;
  State state_ = State::kNone;
  StopRound at_once_;                    // is sent if not all can leave in order
  std::map<NodeId, std::int64_t> held_;  // the steps that nodes reported
};

class InPlace {
 public:
  /// All of this must live longer.
  InPlace(const Roster& nodes, const CoordinatorRules& rules, const JobState& job, Outbox& out)
      : nodes_{nodes}, rules_{rules}, job_{job}, out_{out} {}

  /// Whether workers of the round may stay: only if all of them can, because restarted and
  /// surviving workers would differ in state. After kChangesInPlaceMax changes without a new step
  /// all restart, and the count begins again.
  bool may_stay() const;

  /// Completes the order that the nodes are about to get: workers stay if they may. If nobody is
  /// lost, all stop after the same step.
  void stop(StopRound& order, bool nobody_is_lost);
  /// A node has stopped its workers, and these have stayed.
  void stopped(Roster::Node& node, const ParkedWorkers& parked);
  /// What concerns the step after which all stop.
  StopAtStep& at_step() { return at_step_; }
  /// Whether all workers of these nodes that are parked can enter the round that the nodes would
  /// be.
  static bool fits_parked(const std::vector<Roster::Node*>& members);
  /// `stayed`: workers enter it from the last one.
  void begin_round(bool stayed);
  /// The node is ready. If workers of the round may stay, or will soon because they have stayed for
  /// it, its own start before it joins, while the others train on. Returns whether they do: it is
  /// not asked twice. `waits`: what it would hear as a spare.
  bool prepare(Roster::Node& node, Spare waits);
  /// Its workers are to start, or to start again.
  void ask_to_prepare(const Roster::Node& node, Spare waits);
  /// The node is prepared, but workers that have stayed for the round cannot stay again yet: to
  /// stop the round now would restart all. Then the node waits, though no longer than
  /// kJoinPatience. Returns whether it does.
  bool waits_to_join(const Roster::Node& node, TimePoint now);
  /// Whether those that wait to join are to be welcomed again: true once.
  bool end_wait(TimePoint now);
  /// When their wait ends at the latest; nullopt: none waits.
  std::optional<TimePoint> next_due() const { return joins_by_; }
  /// Workers of this node, which is in the round, wait for its vacant seats.
  void fill_seats_of(const Roster::Node& node) { newcomers_at_ = node.join.host; }
  /// Whether the round is to stop for them: they gain nothing if all have to restart.
  std::optional<Failures::Stop> fill_seats() const;

 private:
  int changes_in_vain() const { return job_.step_since_start > changed_at_ ? 0 : changes_; }

  const Roster& nodes_;
  const CoordinatorRules& rules_;
  const JobState& job_;
  Outbox& out_;
  StopAtStep at_step_{nodes_, out_};
  int changes_ = 0;                    // in place, in a row, with no further step behind them
  std::int64_t changed_at_ = -1;       // the step at the last of them
  bool stayed_ = false;                // workers entered the round from the last one
  std::string newcomers_at_;           // the host where workers wait for vacant seats; "": none do
  std::optional<TimePoint> joins_by_;  // the end of the wait of nodes that are prepared
  bool waited_ = false;                // in this round, and in vain
};

}  // namespace ddprun
