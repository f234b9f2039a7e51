#include "rendezvous/rounds/in_place.hpp"

#include <utility>

namespace ddprun {

bool may_keep(const Roster& nodes, const JobState& job) {
  using Phase = Roster::Phase;
  if (job.verdict || job.changes_in_place >= kChangesInPlaceMax) return false;
  const int others = nodes.count(Phase::kFinished) + nodes.count(Phase::kStopping);
  return nodes.staying() > 0 && nodes.staying() == nodes.count(Phase::kRunning) && others == 0;
}

bool is_to_prepare(const Roster& nodes, const Roster::Node& node, const JobState& job) {
  return node.preparation != Roster::Preparation::kDone && may_keep(nodes, job);
}

Prepare preparation(const Roster& nodes, const Roster::Node& node, const CoordinatorRules& rules,
                    Spare waits) {
  StartRound place{.round = waits.round + 1,
                   .attempt = waits.attempt,
                   .group_rank = 0,
                   .master_addr = rules.master_addr,
                   .master_port = rules.master_port};
  nodes.for_each([&](const Roster::Node& member) {
    if (!member.is_in_round()) return;
    ++place.group_rank;
    place.first_rank += member.join.workers;
    if (member.join.role == node.join.role) place.first_role_rank += member.join.workers;
  });
  place.group_world_size = place.group_rank + 1;
  place.world_size = place.first_rank + node.join.workers;
  place.role_world_size = place.first_role_rank + node.join.workers;
  return {std::move(waits), std::move(place)};
}

bool finish_preparation(Roster::Node& node) {
  using enum Roster::Preparation;
  return std::exchange(node.preparation, kDone) == kUnderWay;
}

RankList local_ranks_in(const Roster::Node& node, const RankList& ranks) {
  RankList local;
  for (const int rank : ranks)
    if (rank >= node.first_rank && rank < node.first_rank + node.join.workers)
      local.push_back(rank - node.first_rank);
  return local;
}

}  // namespace ddprun
