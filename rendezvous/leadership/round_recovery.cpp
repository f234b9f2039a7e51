#include "rendezvous/leadership/round_recovery.hpp"

#include "base/endpoint.hpp"
#include "rendezvous/messages/round_messages.hpp"

namespace ddprun {

namespace {

bool is_same_round(const HostedAssignment& a, const HostedAssignment& b) {
  return a.round == b.round && a.nodes == b.nodes && a.world_size == b.world_size &&
         a.store_port == b.store_port;
}

bool is_possible(const HostedAssignment& place, int workers) {
  return place.nodes >= 1 && place.group_rank >= 0 && place.group_rank < place.nodes &&
         workers_in(place.vacant, workers) > 0 && place.first_rank >= 0 &&
         place.first_rank <= place.world_size - workers_in(place.vacant, workers) &&
         place.world_size / place.nodes <= kWorkersPerNodeMax && place.store_port >= 0 &&
         place.store_port <= kPortMax;
}

}  // namespace

bool RoundRecovery::fits(const Join& join, int nodes_max, TimePoint now) const {
  const HostedAssignment& place = join.voter.assignment;
  if (now >= workers_end_ || place.nodes > nodes_max || place.round != join.voter.running)
    return false;
  if (!is_possible(place, join.workers)) return false;
  return !round_ || (is_same_round(*round_, place) && absent_.contains(place.group_rank));
}

void RoundRecovery::begin(const HostedAssignment& round) {
  round_ = round;
  absent_.clear();
  for (int rank = 0; rank < round.nodes; ++rank) absent_.insert(rank);
}

bool RoundRecovery::was_in_round(const HostedAssignment& place) const {
  return round_ && is_same_round(*round_, place);
}

void RoundRecovery::end() {
  round_.reset();
  absent_.clear();
}

TimePoint RoundRecovery::unknown_workers_end() const {
  return round_ && absent_.empty() ? TimePoint{} : workers_end_;
}

}  // namespace ddprun
