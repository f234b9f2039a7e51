// Which workers stay while members of their round change, and behind which step all leave it.
// Pure. docs/internals/rounds.md, section "In place", has the rules.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/numbers.hpp"
#include "rendezvous/messages/messages.hpp"
#include "rendezvous/messages/round_messages.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/coordinator_rules.hpp"
#include "rendezvous/rounds/job_state.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

/// This many changes in a row keep the workers, with no further step of theirs behind them.
inline constexpr int kChangesInPlaceMax = 3;

/// Whether workers of the round may stay: only if all of them can, because restarted and surviving
/// workers would differ in state. After kChangesInPlaceMax changes without a new step all restart.
bool may_keep(const Roster& nodes, const JobState& job);

/// Whether the node, which is ready, is to prepare before it joins the round that runs: so the
/// others train on while its workers start. It is not asked twice.
bool is_to_prepare(const Roster& nodes, const Roster::Node& node, const JobState& job);

/// What such a node hears. `waits`: what it would hear as a spare.
Prepare preparation(const Roster& nodes, const Roster::Node& node, const CoordinatorRules& rules,
                    Spare waits);

/// The node's workers are parked, or have ended. Returns whether this was not known.
bool finish_preparation(Roster::Node& node);

/// Whether none of the node's workers could enter a round yet, and some are on their way.
bool waits_for_workers(const Roster::Node& node);

/// The node's agent has connected again. `resumes`: its workers are in their round still.
void come_back_to_seats(Roster::Node& node, bool resumes);

/// Takes down which workers of the node are parked, as it has told.
void note_parked(Roster::Node& node, const ParkedWorkers& told);

/// Whether all workers of these nodes that are parked can enter the round that the nodes would be.
bool fits_the_parked(const std::vector<Roster::Node*>& members);

/// Seats of a node that the next round leaves vacant, so that those which have stayed wait for
/// nobody: other workers start beside it. Where these have ended before they could enter a round,
/// none is left: then they start in it, and fail where everybody hears of it. None is left as well
/// where those that have stayed need as many workers as before.
RankList seats_to_leave(const Roster::Node& node);

/// The local ranks of the node's workers that are among these ranks of its round.
RankList local_ranks_in(const Roster::Node& node, const RankList& ranks);

/// Cut: the round stops behind one step, which all its workers count, so that none is dropped.
/// docs/internals/rounds.md, section "In place".
///
///     none --begin--> hold --all nodes hold--> last step
///       any --broken, or a node whose workers have not all left in order--> none
///
/// A node that holds reports the greatest number of steps that one of its workers has counted. No
/// worker counts another one before it gets the limit, which is one more than the greatest of
/// these: so all can reach it, and know it before they do.
class Cut {
 public:
  /// Both must live longer.
  Cut(const Roster& nodes, Outbox& out) : nodes_{nodes}, out_{out} {}

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
  void tell_stopping(const CoordinatorMessage& order);

  const Roster& nodes_;
  Outbox& out_;
  State state_ = State::kNone;
  StopRound at_once_;                    // is sent if not all can leave in order
  std::map<NodeId, std::int64_t> held_;  // the steps that nodes have told
};

}  // namespace ddprun
