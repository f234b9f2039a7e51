#include "agent/decisions/successor_search.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

using std::chrono::milliseconds;
using Why = AgentEnd::Why;

namespace {

/// None of that many voters, of which one may be no node of the round, was elected within that
/// time.
AgentEnd in_vain(int voters, const std::string& extra_voter, milliseconds patience) {
  const std::string time = "for " + std::to_string(patience.count() / 1000) + " s nobody had ";
  std::string why = "the coordinator is lost, and ";
  if (voters < 3)
    why += "of " + std::to_string(voters) +
           " nodes the rest is no majority that could go on: that takes three nodes, two and a "
           "spare, or two and a witness (`ddprun server` on a third machine, named by "
           "--rdzv-endpoint)";
  else if (!extra_voter.empty())
    why += time + "more than half of the votes of " + std::to_string(voters - 1) + " nodes and " +
           extra_voter;
  else
    why += time + "the votes of more than half of the " + std::to_string(voters) + " nodes";
  return {Why::kCoordinatorLost, {}, 0, std::move(why)};
}

/// The nodes elect the successor, so they have to meet at one of them.
class AmongNodes final : public SuccessorSearch {
 public:
  explicit AmongNodes(const AgentState& agent) : agent_{agent} {}

  std::vector<std::string> places() const override;
  Next next(Turns& turns, milliseconds pause, TimePoint now) const override;
  /// If no process listens there any more, a member of the round is gone, and others ask for that.
  bool repeats_lost_candidate() const override { return true; }
  bool guides_newcomers() const override { return false; }

 private:
  const AgentState& agent_;
};

/// The successors come first, in their order, so that all nodes meet at the same one.
std::vector<std::string> AmongNodes::places() const {
  std::vector<std::string> places;
  for (const Successor& successor : agent_.successors) places.push_back(successor.endpoint);
  places.push_back(agent_.follower.state().leader);
  places.insert(places.end(), agent_.rules.places.begin(), agent_.rules.places.end());
  return places;
}

/// One of two nodes is no majority, so the other is waited for only while it may be there.
SuccessorSearch::Next AmongNodes::next(Turns& turns, milliseconds pause, TimePoint now) const {
  const VoterState& voter = agent_.follower.state();
  const int nodes = std::max(voter.proposed.voters, voter.committed.voters);
  const bool alone = nodes < 3 && turns.all_refuse();
  const auto patience =
      alone ? agent_.rules.terms.heartbeat_timeout : agent_.rules.terms.join_timeout;
  const auto searched = now - turns.since();
  if (searched >= patience) return in_vain(nodes, agent_.extra_voter, patience);
  const Turns::Try next = turns.next();
  if (agent_.held_end && (turns.all_gone() || searched >= agent_.rules.terms.heartbeat_timeout))
    return AgentEnd{Why::kJobEnded, *agent_.held_end, 0, ""};
  // One that admits this node may be lost at once, each time.
  if (next.turn > 0) pause = ConnectPlan::pause_number(next.turn);
  return Attempt{next.place, {kPlaceTimeout, milliseconds{0}, kPlaceTimeout}, pause};
}

/// The registry knows where the coordinator is, so there is one attempt for all the time. A place
/// that another node named is tried before.
class InRegistry final : public SuccessorSearch {
 public:
  explicit InRegistry(const AgentState& agent) : agent_{agent} {}

  std::vector<std::string> places() const override { return {""}; }
  Next next(Turns& turns, milliseconds pause, TimePoint now) const override;
  bool repeats_lost_candidate() const override { return false; }
  bool guides_newcomers() const override { return true; }

 private:
  const AgentState& agent_;
};

SuccessorSearch::Next InRegistry::next(Turns& turns, milliseconds pause, TimePoint now) const {
  const AgentRules& rules = agent_.rules;
  const auto patience = agent_.held_end ? rules.terms.heartbeat_timeout : rules.terms.join_timeout;
  const auto left = std::chrono::duration_cast<milliseconds>(turns.since() + patience - now);
  if (left <= milliseconds{0} && agent_.held_end)
    return AgentEnd{Why::kJobEnded, *agent_.held_end, 0, ""};
  if (left <= milliseconds{0}) return AgentEnd{Why::kCoordinatorLost, {}, 0, turns.last_reason()};
  const Turns::Try next = turns.next_or_last();
  const auto time = next.place.empty() ? left : std::min(left, milliseconds{kPlaceTimeout});
  const auto answer = std::max(rules.terms.heartbeat_timeout, kAnswerTimeoutMin);
  if (turns.tries() > 2) pause = ConnectPlan::pause_number(turns.tries() - 1);
  return Attempt{next.place, {time, milliseconds{0}, std::min(time, answer)}, pause};
}

}  // namespace

std::unique_ptr<SuccessorSearch> make_successor_search(const AgentState& agent) {
  switch (agent.rules.find_successor) {
    case FindSuccessor::kAmongNodes:
      return std::make_unique<AmongNodes>(agent);
    case FindSuccessor::kInRegistry:
      return std::make_unique<InRegistry>(agent);
  }
  return nullptr;
}

}  // namespace ddprun
