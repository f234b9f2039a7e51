#include "base/rank_list.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

TEST_CASE("ranks are read from a text, also from one that was cut") {
  CHECK(ranks_in("0,2-5") == RankList{0, 2, 3, 4, 5});
  CHECK(ranks_in("0,2-5,7…") == RankList{0, 2, 3, 4, 5});
  CHECK(ranks_in("").empty());
  CHECK(ranks_in("none").empty());
  CHECK(ranks_in("0-2147483646").empty());  // a peer's joke
}

TEST_CASE("lists of ranks are united, and parted") {
  CHECK(united("0,2", "1-3") == "0-3");
  CHECK(united(RankList{1, 3}, RankList{2, 3}) == RankList{1, 2, 3});
  CHECK(without(RankList{1, 2, 3}, RankList{2, 9}) == RankList{1, 3});
  CHECK(share_a_rank({1, 2}, {2}));
  CHECK_FALSE(share_a_rank({1, 2}, {3}));
}

TEST_CASE("one rank is spoken of as one") {
  CHECK(ranks_text("1") == "rank 1");
  CHECK(ranks_text("0-3") == "ranks 0-3");
  CHECK(ranks_text("0,7") == "ranks 0,7");
}

}  // namespace
}  // namespace ddprun
