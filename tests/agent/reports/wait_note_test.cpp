#include "agent/reports/wait_note.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a short wait for nodes is not told, a long one when it changes and every 30 s") {
  WaitNote note;
  const TimePoint start{};
  const Waiting two{2, 3, 4, 600'000};
  CHECK_FALSE(note.next(two, "h0:7", start));
  CHECK_FALSE(note.next(two, "h0:7", start + 2s));
  CHECK(note.next(two, "h0:7", start + 3s) ==
        "waiting for nodes at h0:7: 2 of 3 there; giving up in 600 s");
  CHECK_FALSE(note.next(two, "h0:7", start + 4s));
  CHECK_FALSE(note.next(two, "h0:7", start + 32s));
  CHECK(note.next(two, "h0:7", start + 33s).has_value());
  const Waiting three{3, 3, 4, 29'500};
  CHECK(note.next(three, "h0:7", start + 34s) ==
        "3 nodes are there, and 4 may be: starting in 30 s");
  const Waiting one{1, 1, 4, 29'500};
  CHECK(note.next(one, "h0:7", start + 35s) == "1 node is there, and 4 may be: starting in 30 s");
}

TEST_CASE("a wait for others in place of nodes that fail says so") {
  WaitNote note;
  const Waiting waiting{
      .nodes = 2, .nodes_min = 2, .nodes_max = 2, .left_ms = 27'000, .objected = 1};
  note.next(waiting, "", TimePoint{});
  CHECK(
      note.next(waiting, "", TimePoint{} + 3s) ==
      "2 nodes are there, 1 of them to be left out (--node-strikes, --check-nodes): starting in 27 "
      "s, or when others have come in place of these");
}

}  // namespace
}  // namespace ddprun
