#include "rendezvous/leadership/elected.hpp"

#include <algorithm>

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

TEST_CASE_METHOD(ElectedFixture, "a voter that joins again has acknowledged a round only once") {
  for (const char* node : {"a", "b", "c"}) step(VoterJoined{.node = node});
  leader_.begin_round(1, {"a", "b", "c"}, kStart);
  for (const char* node : {"a", "b", "c"}) step(VoterBeat{node, {.round = 1, .epoch = 1}});
  leader_.begin_round(2, {"a", "b", "c"}, kStart);
  const auto acknowledges = [&](const NodeId& node) {
    step(VoterBeat{node, {.round = 2, .epoch = 1}});
  };
  acknowledges("a");
  step(VoterJoined{.node = "a",
                   .state = {.epoch = 1, .promised = 1, .proposed = {{1, 2}, 3, true}}});
  acknowledges("a");
  acknowledges("b");
  CHECK(leader_.committed().version == ConfigurationVersion{1, 1});
  acknowledges("c");
  CHECK(leader_.committed().version == ConfigurationVersion{1, 2});
}

TEST_CASE_METHOD(ElectedFixture, "no vote is awaited of an agent that has none") {
  const auto awaits_vote = [&](bool is_voter) {
    const auto actions =
        step(VoterJoined{.node = "a", .state = {.promised = 9}, .is_voter = is_voter});
    return std::ranges::any_of(actions, [](const LeadershipAction& action) {
      return std::holds_alternative<AwaitVote>(action);
    });
  };
  CHECK_FALSE(awaits_vote(false));
  CHECK(awaits_vote(true));
}

TEST_CASE("a first place that begins the job requests the votes that were promised to others") {
  Elected first{{.terms = {.heartbeat_timeout = kTimeout},
                 .begins = Begins::kAsking,
                 .endpoint = "a:1",
                 .places = {"a:1", "b:1"}}};
  first.step(VoterJoined{.node = "a", .state = {.promised = 5}}, kStart);
  first.step(StepDone{}, kStart);
  std::int64_t epoch = 0;
  for (const LeadershipAction& action : first.step(LeadersFound{{}, true}, kStart))
    if (const auto* told = std::get_if<TellVoter>(&action))
      if (const auto* request = std::get_if<RequestVote>(&told->message)) epoch = request->epoch;
  CHECK(epoch == 6);
}

TEST_CASE_METHOD(ElectedFixture,
                 "a leader with a round goes on when one of its nodes votes elsewhere") {
  for (const char* node : {"a", "b", "c"}) step(VoterJoined{.node = node});
  leader_.begin_round(1, {"a", "b", "c"}, kStart);
  const Configuration round{{1, 1}, 3, true, 2};
  step(VoterJoined{.node = "c", .state = {.epoch = 1, .promised = 9, .proposed = round}});
  CHECK(leader_.leads());
  CHECK(leader_.epoch() == 1);
}

}  // namespace
}  // namespace ddprun
