// DebuggedRanks: in which ranks of the running round a debugger is open, or which wait for one, as
// their agents report it; and which nodes are to hear of that. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/messages/inspect_messages.hpp"
#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/rounds/coordinator_events.hpp"
#include "rendezvous/rounds/roster.hpp"

namespace ddprun {

class DebuggedRanks {
 public:
  void begin_round(int round);
  void end_round() { begin_round(0); }

  /// A node of the round reports all of its own.
  void take(const Roster::Node& node, const Debugging& report);
  /// The node is lost.
  void forget(const NodeId& node) { of_nodes_.erase(node); }
  /// The node is new, or back, and may have missed what the others have heard.
  void came(const NodeId& node);

  /// By rank.
  const std::vector<DebuggedRank>& ranks() const { return told_.ranks; }

  /// Tells all nodes what has changed since the last call, and those that came what is known.
  /// Returns whether any rank is debugged now, where that has changed.
  std::optional<bool> tell(const Roster& nodes, Outbox& out);

 private:
  std::vector<DebuggedRank> all() const;

  std::map<NodeId, std::vector<DebuggedRank>> of_nodes_;
  RanksDebugged told_;
  bool ever_told_ = false;  // in this round
  std::set<NodeId> newcomers_;
};

}  // namespace ddprun
