#include "rendezvous/rounds/debugged_ranks.hpp"

#include <algorithm>
#include <utility>

#include "rendezvous/messages/progress.hpp"

namespace ddprun {

void DebuggedRanks::begin_round(int round) {
  *this = DebuggedRanks{};
  told_.round = round;
}

/// That none is debugged any more is news even where it is not known that one was: the node may
/// have missed the end at a server that was started again since.
void DebuggedRanks::take(const Roster::Node& node, const Debugging& report) {
  std::vector<DebuggedRank>& ranks = of_nodes_[node.id()];
  ranks = report.ranks;
  std::erase_if(ranks, [&](const DebuggedRank& each) { return !node.seats.holds(each.rank); });
}

void DebuggedRanks::came(const NodeId& node) {
  if (ever_told_) newcomers_.insert(node);
}

std::vector<DebuggedRank> DebuggedRanks::all() const {
  std::vector<DebuggedRank> all;
  for (const auto& [node, ranks] : of_nodes_) all.insert(all.end(), ranks.begin(), ranks.end());
  std::ranges::stable_sort(all, {}, &DebuggedRank::rank);
  if (all.size() > kProgressRanksMax) all.resize(kProgressRanksMax);
  return all;
}

std::optional<bool> DebuggedRanks::tell(const Roster& nodes, Outbox& out) {
  if (of_nodes_.empty() && !ever_told_) return std::nullopt;
  const std::set<NodeId> newcomers = std::exchange(newcomers_, {});
  std::vector<DebuggedRank> now = all();
  if (!std::exchange(ever_told_, true) || now != told_.ranks) {
    const bool any = !now.empty();
    const bool begins_or_ends = any == told_.ranks.empty();
    told_.ranks = std::move(now);
    out.send_to_nodes(nodes, told_);
    return begins_or_ends ? std::optional{any} : std::nullopt;
  }
  if (newcomers.empty()) return std::nullopt;
  nodes.for_each([&](const Roster::Node& node) {
    if (!node.join.witness && newcomers.contains(node.id())) out.send(node.peer(), told_);
  });
  return std::nullopt;
}

}  // namespace ddprun
