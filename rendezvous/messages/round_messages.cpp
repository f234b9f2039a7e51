#include "rendezvous/messages/round_messages.hpp"

#include <algorithm>

namespace ddprun {

RankList seats_in(const std::string& list, int workers) {
  RankList seats = ranks_in(list);
  std::erase_if(seats, [&](int local_rank) { return local_rank >= workers; });
  return seats;
}

int workers_in(const std::string& vacant, int workers) {
  return workers - static_cast<int>(seats_in(vacant, workers).size());
}

int rank_of(const StartRound& round, int local_rank) {
  if (round.vacant.empty()) return round.first_rank + local_rank;
  const RankList vacant = ranks_in(round.vacant);
  const auto seat = std::ranges::lower_bound(vacant, local_rank);
  const auto before = static_cast<int>(seat - vacant.begin());
  const bool is_vacant = seat != vacant.end() && *seat == local_rank;
  return is_vacant ? round.world_size + before : round.first_rank + local_rank - before;
}

int local_rank_of(const StartRound& round, int workers, int rank) {
  for (int local_rank = 0; local_rank < workers; ++local_rank)
    if (rank_of(round, local_rank) == rank) return local_rank;
  return -1;
}

}  // namespace ddprun
