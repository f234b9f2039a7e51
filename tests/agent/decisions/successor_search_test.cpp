// Both searches for the successor of a lost coordinator.
#include "agent/decisions/successor_search.hpp"

#include <utility>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

// A node that knows two successors in round 4 of three nodes, which h0:1 has led.
class SuccessorSearchFixture {
 protected:
  explicit SuccessorSearchFixture(FindSuccessor how) {
    agent_.rules.find_successor = how;
    agent_.rules.terms.join_timeout = 60s;
    agent_.rules.terms.heartbeat_timeout = 5s;
    agent_.rules.places = {"h0:1", "h9:1"};
    agent_.successors = {{"h1:1", 1}, {"h2:1", 2}};
    agent_.follower.follow(Joined{.epoch = 1}, "h0:1");
    agent_.follower.hear(StartRound{.round = 4, .group_world_size = 3, .epoch = 1});
    search_ = make_successor_search(agent_);
    begin(search_->places());
  }
  void begin(std::vector<std::string> places) { turns_ = Turns{std::move(places), now_}; }
  /// Where it looks next; nullopt: it has ended.
  std::optional<Attempt> next() {
    auto next = search_->next(turns_, 7ms, now_);
    if (const auto* const end = std::get_if<AgentEnd>(&next)) end_ = *end;
    const auto* const attempt = std::get_if<Attempt>(&next);
    return attempt != nullptr ? std::optional{*attempt} : std::nullopt;
  }

  AgentState agent_;
  std::unique_ptr<SuccessorSearch> search_;
  TimePoint now_ = TimePoint{} + 1h;
  Turns turns_{{}, now_};
  AgentEnd end_;
};

class AmongNodesFixture : protected SuccessorSearchFixture {
 protected:
  AmongNodesFixture() : SuccessorSearchFixture{FindSuccessor::kAmongNodes} {}
};

class InRegistryFixture : protected SuccessorSearchFixture {
 protected:
  InRegistryFixture() : SuccessorSearchFixture{FindSuccessor::kInRegistry} {}
};

TEST_CASE_METHOD(AmongNodesFixture,
                 "the nodes look at the successors, where the leader was, and at the places") {
  CHECK(search_->places() == std::vector<std::string>{"h1:1", "h2:1", "h0:1", "h0:1", "h9:1"});
}

TEST_CASE_METHOD(AmongNodesFixture,
                 "a place has a second, and from the second turn on there are pauses") {
  begin({"h1:1", "h2:1"});
  for (const char* const place : {"h1:1", "h2:1"}) {
    const auto attempt = next();
    REQUIRE(attempt.has_value());
    CHECK(attempt->place == place);
    CHECK(attempt->patience == Patience{1s, 0ms, 1s});
    CHECK(attempt->pause == 7ms);
  }
  CHECK(next()->pause == ConnectPlan::pause_number(1));
}

TEST_CASE_METHOD(AmongNodesFixture,
                 "a message says which voters a node without a majority found, the witness too") {
  agent_.extra_voter = "the witness";
  agent_.follower.hear(Reconfigure{{.version = {1, 4, 1}, .voters = 4}, true});
  now_ += 60s;
  CHECK_FALSE(next().has_value());
  CHECK(end_.why == AgentEnd::Why::kCoordinatorLost);
  CHECK(end_.message ==
        "the coordinator is lost, and for 60 s nobody had more than half of the votes of 3 nodes "
        "and the witness");
}

TEST_CASE_METHOD(AmongNodesFixture, "a candidate that is lost is asked once more") {
  CHECK(search_->repeats_lost_candidate());
}

TEST_CASE_METHOD(AmongNodesFixture, "newcomers look around by themselves") {
  CHECK_FALSE(search_->guides_newcomers());
}

TEST_CASE_METHOD(InRegistryFixture, "a registry is asked for all the time that is left") {
  CHECK(search_->places() == std::vector<std::string>{""});
  now_ += 20s;
  const auto attempt = next();
  REQUIRE(attempt.has_value());
  CHECK(attempt->place.empty());
  CHECK(attempt->patience == Patience{40s, 0ms, 5s});
  CHECK(attempt->pause == 7ms);
}

TEST_CASE_METHOD(InRegistryFixture, "a place that somebody has told of has a second before that") {
  begin({"h7:1", ""});
  CHECK(next()->patience == Patience{1s, 0ms, 1s});
  CHECK(next()->place.empty());
  const auto again = next();
  CHECK(again->place.empty());
  CHECK(again->pause == ConnectPlan::pause_number(2));
}

TEST_CASE_METHOD(InRegistryFixture, "the search ends with the reason that was found last") {
  turns_.failed("", "etcd at e:2379: no answer", false);
  now_ += 60s;
  CHECK_FALSE(next().has_value());
  CHECK(end_.why == AgentEnd::Why::kCoordinatorLost);
  CHECK(end_.message == "etcd at e:2379: no answer");
}

TEST_CASE_METHOD(InRegistryFixture, "an end that is known is looked for no longer than silence") {
  agent_.held_end = EndJob{.restarts = 1};
  CHECK(next()->patience.any == 5s);
  now_ += 5s;
  CHECK_FALSE(next().has_value());
  CHECK(end_.why == AgentEnd::Why::kJobEnded);
  CHECK(end_.job == EndJob{.restarts = 1});
}

TEST_CASE_METHOD(InRegistryFixture, "the registry guides newcomers, and repeats no candidate") {
  CHECK(search_->guides_newcomers());
  CHECK_FALSE(search_->repeats_lost_candidate());
}

}  // namespace
}  // namespace ddprun
