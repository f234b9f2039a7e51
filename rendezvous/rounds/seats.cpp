#include "rendezvous/rounds/seats.hpp"

#include <iterator>
#include <utility>

#include "rendezvous/messages/message_limits.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

RankList Seats::local_ranks_in(const RankList& ranks) const {
  const RankList taken = without(ranks_from(0, workers_), vacant_);
  RankList local;
  for (const int rank : ranks)
    if (rank >= first_rank_ && rank - first_rank_ < std::ssize(taken))
      local.push_back(taken[static_cast<std::size_t>(rank - first_rank_)]);
  return local;
}

bool Seats::wait_for_workers() const {
  return preparation_ == Preparation::kUnderWay && parked_.workers.empty();
}

/// The next round leaves seats of workers that are gone vacant, so that those which have stayed
/// wait for nobody: other workers start meanwhile. If these have ended before they could enter a
/// round, no seat is left vacant: the next ones start in the round, and fail where everybody hears
/// of it. None is left vacant either if those that have stayed need as many workers as before.
RankList Seats::vacant_next() const {
  if (parked_.workers.empty() || parked_.world_size > 0) return {};
  RankList vacant = without(ranks_from(0, workers_), parked_.workers);
  if (preparation_ == Preparation::kDone) vacant = without(vacant, vacant_);
  return format_number_list(vacant).size() <= kRankListBytesMax ? vacant : RankList{};
}

void Seats::enter(int round, int group_rank, int first_rank) {
  round_ = round;
  group_rank_ = group_rank;
  first_rank_ = first_rank;
  vacant_ = vacant_next();
  parked_ = {};
  preparation_ = vacant_.empty() ? Preparation::kNone : Preparation::kUnderWay;
}

void Seats::take_back(const HostedAssignment& place) {
  round_ = place.round;
  group_rank_ = place.group_rank;
  first_rank_ = place.first_rank;
  vacant_ = seats_in(place.vacant, workers_);
  come_back(true);
}

void Seats::come_back(bool resumes) {
  if (!resumes) vacant_.clear();
  preparation_ = vacant_.empty() ? Preparation::kNone : Preparation::kUnderWay;
}

void Seats::park(const ParkedWorkers& told) {
  parked_ = {seats_in(told.local_ranks, workers_), told.world_size};
}

bool Seats::end_preparation() {
  // Of a node that was in no round, workers have started in all seats whose own were not parked.
  if (vacant_.empty() && !parked_.workers.empty()) parked_.workers = ranks_from(0, workers_);
  return std::exchange(preparation_, Preparation::kDone) == Preparation::kUnderWay;
}

}  // namespace ddprun
