#include "rendezvous/messages/round_messages.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("workers behind a vacant seat move up") {
  const StartRound round{.round = 1, .first_rank = 4, .world_size = 9, .vacant = "1,3"};
  CHECK(workers_in(round.vacant, 5) == 3);
  CHECK(rank_of(round, 0) == 4);
  CHECK(rank_of(round, 2) == 5);
  CHECK(rank_of(round, 4) == 6);
  CHECK(local_rank_of(round, 5, 6) == 4);
  CHECK(local_rank_of(round, 5, 7) == -1);
}

TEST_CASE("who starts beside a round has a number that nobody has in it") {
  const StartRound round{.round = 1, .first_rank = 0, .world_size = 9, .vacant = "1,3"};
  CHECK(rank_of(round, 1) == 9);
  CHECK(rank_of(round, 3) == 10);
}

TEST_CASE("seats that the node does not have are passed over") {
  CHECK(seats_in("0,7", 2) == RankList{0});
  CHECK(seats_in("no list", 2).empty());
  CHECK(workers_in("0,7", 2) == 1);
}

}  // namespace
}  // namespace ddprun
