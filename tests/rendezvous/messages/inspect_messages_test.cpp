#include "rendezvous/messages/inspect_messages.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("a line says which rank is debugged, or where it waits for that") {
  CHECK(lines_of({}).empty());
  CHECK(lines_of({{.rank = 3}}) ==
        Lines{"rank 3 is being debugged: no rank is called hung or slow meanwhile"});
  CHECK(lines_of({{3, true, "train.py:31", "breakpoint()"}}) ==
        Lines{"rank 3 waits at train.py:31 for a debugger (breakpoint()): ddprun debug 3"});
  CHECK(lines_of({{3, true, "", ""}}) == Lines{"rank 3 waits for a debugger: ddprun debug 3"});
}

TEST_CASE("of many ranks that wait for a debugger three are named") {
  std::vector<DebuggedRank> ranks;
  for (int rank = 0; rank < 3; ++rank) ranks.push_back({rank, true, "", ""});
  CHECK(lines_of(ranks).size() == 3);
  ranks.push_back({.rank = 3});
  ranks.push_back({.rank = 4});
  REQUIRE(lines_of(ranks).size() == 4);
  CHECK(lines_of(ranks).at(3) == "and 2 more");
}

TEST_CASE("what a worker says of its error has no control characters in a line") {
  CHECK_THAT(lines_of({{3, true, "a\x1b[2J.py:1", "two\nlines"}}).at(0),
             !contains("\n") && !contains("\x1b"));
}

}  // namespace
}  // namespace ddprun
