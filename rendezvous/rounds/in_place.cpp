#include "rendezvous/rounds/in_place.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/numbers.hpp"
#include "rendezvous/messages/round_messages.hpp"

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
    place.first_rank += member.workers_in_round();
    if (member.join.role == node.join.role) place.first_role_rank += member.workers_in_round();
  });
  place.group_world_size = place.group_rank + 1;
  place.world_size = place.first_rank + node.join.workers;
  place.role_world_size = place.first_role_rank + node.join.workers;
  return {std::move(waits), std::move(place)};
}

bool finish_preparation(Roster::Node& node) {
  using enum Roster::Preparation;
  // Beside all rounds workers have started in all seats whose own were not parked.
  if (node.vacant.empty() && !node.parked.workers.empty())
    node.parked.workers = ranks_from(0, node.join.workers);
  return std::exchange(node.preparation, kDone) == kUnderWay;
}

bool waits_for_workers(const Roster::Node& node) {
  return node.preparation == Roster::Preparation::kUnderWay && node.parked.workers.empty();
}

void come_back_to_seats(Roster::Node& node, bool resumes) {
  using enum Roster::Preparation;
  if (!resumes) node.vacant.clear();
  node.preparation = node.vacant.empty() ? kNone : kUnderWay;
}

void note_parked(Roster::Node& node, const ParkedWorkers& told) {
  node.parked = {seats_in(told.local_ranks, node.join.workers), told.world_size};
}

bool fits_the_parked(const std::vector<Roster::Node*>& members) {
  int world_size = 0;
  for (const Roster::Node* const node : members)
    world_size += node->join.workers - static_cast<int>(seats_to_leave(*node).size());
  return std::ranges::all_of(members, [world_size](const Roster::Node* node) {
    const auto& [workers, needed] = node->parked;
    return workers.empty() || needed == 0 || needed == world_size;
  });
}

RankList seats_to_leave(const Roster::Node& node) {
  if (node.parked.workers.empty() || node.parked.world_size > 0) return {};
  RankList vacant = without(ranks_from(0, node.join.workers), node.parked.workers);
  if (node.preparation == Roster::Preparation::kDone) vacant = without(vacant, node.vacant);
  return format_number_list(vacant).size() <= kRankListBytesMax ? vacant : RankList{};
}

RankList local_ranks_in(const Roster::Node& node, const RankList& ranks) {
  const RankList seats = without(ranks_from(0, node.join.workers), node.vacant);
  RankList local;
  for (const int rank : ranks)
    if (rank >= node.first_rank && rank - node.first_rank < std::ssize(seats))
      local.push_back(seats[static_cast<std::size_t>(rank - node.first_rank)]);
  return local;
}

}  // namespace ddprun
