#include "rendezvous/messages/message_limits.hpp"

#include <chrono>

#include "rendezvous/messages/messages.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

const Join kGood{.run_id = "job",
                 .node = "n",
                 .host = "h1",
                 .terms = {.nodes_min = 2, .nodes_max = 2, .restarts_max = 3}};

template <typename Change>
std::string complaint(Change&& change) {
  Join join = kGood;
  change(join);
  const auto checked = check(AgentMessage{join});
  return checked ? "" : checked.error().message;
}

template <typename Change>
bool acceptable(Change&& change) {
  return complaint(change).empty();
}

TEST_CASE("what a node says of itself is held to its limits") {
  CHECK(acceptable([](Join&) {}));
  CHECK(acceptable([](Join& j) { j.workers = kWorkersPerNodeMax; }));
  CHECK_FALSE(acceptable([](Join& j) { j.workers = kWorkersPerNodeMax + 1; }));
  CHECK_FALSE(acceptable([](Join& j) { j.workers = 0; }));
  CHECK(acceptable([](Join& j) { j.run_id = std::string(kRunIdBytesMax, 'x'); }));
  CHECK_FALSE(acceptable([](Join& j) { j.run_id = std::string(kRunIdBytesMax + 1, 'x'); }));
  CHECK(acceptable([](Join& j) { j.run_id = ""; }));
  CHECK(acceptable([](Join& j) { j.node = std::string(kNodeIdBytesMax, 'x'); }));
  CHECK_FALSE(acceptable([](Join& j) { j.node = std::string(kNodeIdBytesMax + 1, 'x'); }));
  CHECK_FALSE(acceptable([](Join& j) { j.node = ""; }));
  CHECK(acceptable([](Join& j) { j.host = std::string(256, 'x'); }));
  CHECK_FALSE(acceptable([](Join& j) { j.host = std::string(257, 'x'); }));
  CHECK(acceptable([](Join& j) { j.role = std::string(256, 'x'); }));
  CHECK_FALSE(acceptable([](Join& j) { j.role = std::string(257, 'x'); }));
  CHECK(acceptable([](Join& j) { j.node_rank = kNodesMax - 1; }));
  CHECK_FALSE(acceptable([](Join& j) { j.node_rank = kNodesMax; }));
  CHECK_FALSE(acceptable([](Join& j) { j.node_rank = -2; }));
  CHECK(acceptable([](Join& j) { j.incarnation = kCountMax; }));
  CHECK_FALSE(acceptable([](Join& j) { j.incarnation = 0; }));
  CHECK_FALSE(acceptable([](Join& j) { j.incarnation = std::int64_t{kCountMax} + 1; }));
}

TEST_CASE("what a node knows of the job is believed within reason") {
  CHECK(acceptable([](Join& j) { j.counters = {kCountMax, 0}; }));
  CHECK_FALSE(acceptable([](Join& j) { j.counters = {kCountMax + 1, 0}; }));
  CHECK_FALSE(acceptable([](Join& j) { j.counters = {-1, 0}; }));
  CHECK(acceptable([](Join& j) { j.counters = {1, 4}; }));  // all attempts have failed
  CHECK_FALSE(acceptable([](Join& j) { j.counters = {1, 5}; }));
  CHECK_FALSE(acceptable([](Join& j) { j.counters = {1, -1}; }));
  CHECK(acceptable([](Join& j) { j.terms.restarts_max = std::numeric_limits<int>::max(); }));
}

TEST_CASE("the terms of a job are held to their limits") {
  const auto terms = [](auto&& change) { return acceptable([&](Join& j) { change(j.terms); }); };
  CHECK(terms([](JobTerms& t) { t.nodes_min = 1; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.nodes_min = 0; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.nodes_min = 3; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.nodes_max = 1; }));
  CHECK(terms([](JobTerms& t) { t.nodes_max = kNodesMax; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.nodes_max = kNodesMax + 1; }));
  CHECK(terms([](JobTerms& t) { t.hang_timeout = kHangTimeoutOff; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.hang_timeout = kHangTimeoutOff - 1ms; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.hang_timeout = milliseconds{kTimeoutMsMax + 1}; }));
  CHECK(terms([](JobTerms& t) { t.restarts_max = 0; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.restarts_max = -1; }));
  constexpr auto kWithinWindow = CountedRestarts::kWithinWindow;
  CHECK(terms([](JobTerms& t) { t.restarts = {.counted = kWithinWindow, .window_ms = 1}; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.restarts = {.counted = kWithinWindow}; }));
  CHECK_FALSE(terms([](JobTerms& t) {
    t.restarts = {.counted = kWithinWindow, .window_ms = 1};
    t.restarts_max = kRestartsPerWindowMax + 1;
  }));
  CHECK_FALSE(terms([](JobTerms& t) { t.restarts.delay_max_ms = kTimeoutMsMax + 1; }));
  CHECK_FALSE(terms([](JobTerms& t) { t.restarts.same_failure_limit = -1; }));
  for (milliseconds JobTerms::*timeout :
       {&JobTerms::last_call_timeout, &JobTerms::join_timeout, &JobTerms::heartbeat_timeout,
        &JobTerms::shutdown_timeout}) {
    const milliseconds least = timeout == &JobTerms::heartbeat_timeout ? 100ms : 0ms;
    const milliseconds most{kTimeoutMsMax};
    CHECK(terms([&](JobTerms& t) { t.*timeout = least; }));
    CHECK_FALSE(terms([&](JobTerms& t) { t.*timeout = least - 1ms; }));
    CHECK(terms([&](JobTerms& t) { t.*timeout = most; }));
    CHECK_FALSE(terms([&](JobTerms& t) { t.*timeout = most + 1ms; }));
    CHECK_FALSE(terms([&](JobTerms& t) { t.*timeout = milliseconds::max(); }));
  }
}

TEST_CASE("a job that counts no restart twice may be in any attempt, and so may a witness") {
  CHECK_FALSE(acceptable([](Join& j) { j.counters.attempt = j.terms.restarts_max + 2; }));
  CHECK(acceptable([](Join& j) {
    j.terms.restarts.counted = CountedRestarts::kSinceProgress;
    j.counters.attempt = j.terms.restarts_max + 2;
  }));
  CHECK(acceptable([](Join& j) {
    j.witness = true;
    j.terms = {};
    j.counters.attempt = 2;
  }));
}

TEST_CASE("a node that breaks a limit gets the field, the limit and the value") {
  CHECK(complaint([](Join& j) { j.workers = 0; }) ==
        "the number of workers is 0 on h1: 1 to 65536 was expected");
  CHECK(complaint([](Join& j) { j.terms.heartbeat_timeout = 0ms; }) ==
        "heartbeat_timeout_ms is 0 on h1: 100 to 2592000000 was expected");
  CHECK(complaint([](Join& j) { j.node = ""; }) ==
        "the node id has 0 bytes on h1: 1 to 64 were expected");
  CHECK(complaint([](Join& j) { j.host = std::string(300, 'x'); }) ==
        "the name of the host has 300 bytes: 0 to 256 were expected");
}

TEST_CASE("a checkpoint before the announced end may take from 1 ms to 30 days") {
  const auto accepted = [](std::int64_t checkpoint_ms) {
    return check(AgentMessage{Preempt{"why", checkpoint_ms}}).has_value();
  };
  CHECK(accepted(1));
  CHECK_FALSE(accepted(0));
  CHECK(accepted(kTimeoutMsMax));
  CHECK_FALSE(accepted(kTimeoutMsMax + 1));
}

TEST_CASE("what the coordinator says is held to limits, too") {
  const auto accepted = [](const CoordinatorMessage& m) { return check(m).has_value(); };
  CHECK(accepted(Joined{100}));
  CHECK_FALSE(accepted(Joined{99}));
  CHECK_FALSE(accepted(Joined{kTimeoutMsMax + 1}));
  CHECK(accepted(StopRound{1, "", kTimeoutMsMax}));
  CHECK_FALSE(accepted(StopRound{1, "", kTimeoutMsMax + 1}));
  CHECK_FALSE(accepted(StopRound{1, "", 0, -1}));
  CHECK_FALSE(accepted(Spare{-1, 0}));
  CHECK(accepted(StartRound{.round = 1}));
  CHECK_FALSE(accepted(StartRound{.round = 0}));
  CHECK_FALSE(accepted(StartRound{.round = 1, .attempt = -1}));
  CHECK_FALSE(accepted(StartRound{.round = 1, .group_rank = 1}));
  CHECK_FALSE(accepted(StartRound{.round = 1, .first_rank = 2, .world_size = 2}));
  CHECK_FALSE(accepted(StartRound{.round = 1, .first_role_rank = 1}));
  CHECK_FALSE(accepted(StartRound{.round = 1, .role_world_size = 2}));
  CHECK_FALSE(accepted(StartRound{.round = 1, .master_port = 65'536}));
  CHECK(accepted(EndJob{JobOutcome::kPreempted}));
  CHECK_FALSE(accepted(EndJob{JobOutcome::kRunning}));
  CHECK_FALSE(accepted(EndJob{JobOutcome::kStopped}));  // a node's own part
}

TEST_CASE("a list is no longer than a line allows") {
  Progress progress{2, std::vector(2 * kProgressRanksMax, RankProgress{})};
  const auto read = decode_agent_message(encode(AgentMessage{progress}));
  REQUIRE(read.has_value());
  CHECK(std::get<Progress>(*read).ranks.size() == kProgressRanksMax);
}

}  // namespace
}  // namespace ddprun
