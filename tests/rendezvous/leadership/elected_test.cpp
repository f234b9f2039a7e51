#include "rendezvous/leadership/elected.hpp"

#include "tests/rendezvous/leadership/start.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

// Gives the tests a leader that nobody has preceded, and that waits for the nodes of its first
// round.
class ElectedFixture {
 protected:
  ElectedFixture() { step(GatheringBegun{}); }
  LeadershipActions step(const LeadershipEvent& event) { return leader_.step(event, kStart); }

  Elected leader_{{.terms = {.heartbeat_timeout = kTimeout}, .endpoint = "a:1"}};
};

TEST_CASE_METHOD(ElectedFixture, "who follows nobody is announced nowhere") {
  CHECK(step(StepDone{}).empty());
  CHECK(leader_.next_tick() == std::nullopt);
}

TEST_CASE_METHOD(ElectedFixture, "a beat of a node that has no vote here changes nothing") {
  step(VoterJoined{.node = "a"});
  leader_.begin_round(1, {"a"}, kStart);
  // It came after the job's end, to hear of that, and beats until it is let go.
  CHECK(step(VoterBeat{"late", {.round = 1, .epoch = 1}}).empty());
  CHECK(leader_.committed().version == ConfigurationVersion{1, 1});
}

TEST_CASE_METHOD(ElectedFixture, "workers of the first round live no longer than its followers") {
  step(VoterJoined{.node = "a"});
  const auto begins = kStart + kTimeout / 5;
  CHECK(leader_.begin_round(1, {"a"}, begins).lease_ms == (kTimeout - kTimeout / 5).count());
  CHECK(leader_.answer(begins).lease_ms == (kTimeout - kTimeout / 5).count());
}

TEST_CASE_METHOD(ElectedFixture,
                 "a node that has left for good is not missed when a stranger comes") {
  for (const char* node : {"a", "b", "c", "d", "e"}) step(VoterJoined{.node = node});
  leader_.begin_round(1, {"a", "b", "c", "d", "e"}, kStart);
  step(VoterLeft{.node = "e", .in_order = true});
  CHECK(leader_.nodes_needed(1) == 2);
  step(VoterJoined{.node = "stranger", .state = {.promised = 9}});
  CHECK(leader_.nodes_needed(1) == 2);
}

}  // namespace
}  // namespace ddprun
