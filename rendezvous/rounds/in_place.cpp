#include "rendezvous/rounds/in_place.hpp"

namespace ddprun {

bool may_keep(const Roster& nodes, const JobState& job) {
  using Phase = Roster::Phase;
  if (job.verdict || job.changes_in_place >= kChangesInPlaceMax) return false;
  const int others = nodes.count(Phase::kFinished) + nodes.count(Phase::kStopping);
  return nodes.staying() > 0 && nodes.staying() == nodes.count(Phase::kRunning) && others == 0;
}

RankList local_ranks_in(const Roster::Node& node, const RankList& ranks) {
  RankList local;
  for (const int rank : ranks)
    if (rank >= node.first_rank && rank < node.first_rank + node.join.workers)
      local.push_back(rank - node.first_rank);
  return local;
}

}  // namespace ddprun
