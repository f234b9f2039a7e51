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

void Cut::begin(const StopRound& gently) {
  state_ = State::kHold;
  at_once_ = gently;
  at_once_.gently = false;
  at_once_.reason = "not all workers could leave behind one step";
  held_.clear();
}

void Cut::held(const Roster::Node& node, const Holding& report) {
  if (report.round != at_once_.round || node.phase() != Roster::Phase::kStopping) return;
  if (report.step < 0) return broken();
  if (state_ != State::kHold) return;
  held_[node.id()] = report.step;
  if (held_.size() < static_cast<std::size_t>(nodes_.count(Roster::Phase::kStopping))) return;
  state_ = State::kLastStep;
  const auto most =
      std::ranges::max_element(held_, {}, [](const auto& told) { return told.second; });
  tell_stopping(LeaveAfter{report.round, most->second + 1});
}

/// Where a worker is lost the others of its node leave at once, and so do their peers.
void Cut::stopped(const Roster::Node& node) {
  const bool in_order =
      state_ == State::kLastStep && std::ssize(node.parked.workers) >= node.workers_in_round();
  if (!in_order) broken();
}

void Cut::broken() {
  if (std::exchange(state_, State::kNone) != State::kNone) tell_stopping(at_once_);
}

void Cut::tell_stopping(const CoordinatorMessage& order) {
  nodes_.for_each([&](const Roster::Node& node) {
    if (node.phase() == Roster::Phase::kStopping) out_.send(node.peer(), order);
  });
}

}  // namespace ddprun
