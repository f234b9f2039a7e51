// What CoordinatorMachine does while ranks are debugged, or wait for a debugger: whom it tells, and
// that nobody is called hung or slow.
#include "tests/rendezvous/rounds/round_fixture.hpp"
#include "tests/rendezvous/watch/training_model.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Ranks = std::vector<DebuggedRank>;

const DebuggedRank kWaiting{1, true, "train.py:31", "breakpoint()"};

/// Two nodes with two workers each. Rank 1 stands still, the others wait in collective 12.
class DebuggedFixture : public RoundFixture {
 protected:
  DebuggedFixture() {
    job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3, .hang_timeout = 3s});
    for (const NodeId node : {"a", "b"}) joins(node, 2);
    round_ = start("a").round;
    tells_progress();
  }
  void tells_progress(std::int64_t still_ms = 0) {
    for (const int rank : {0, 1, 2, 3})
      says(rank < 2 ? "a" : "b", Progress{round_,
                                          {{.rank = rank,
                                            .watched = true,
                                            .groups = {{"0", rank == 1 ? 11 : 12, 11}},
                                            .still_ms = still_ms}}});
  }
  void debugs(const NodeId& node, Ranks ranks) { says(node, Debugging{round_, std::move(ranks)}); }
  /// Time in which both nodes answer whenever they are asked.
  void stands_still(std::chrono::milliseconds time) {
    for (auto left = time; left > 0ms; left -= 500ms) {
      passes_beating(500ms, {"a", "b"});
      const auto asked = order<Inspect>("a");
      was_asked_ = was_asked_ || asked.has_value();
      if (asked)
        for (const NodeId node : {"a", "b"})
          says(node, Inspected{asked->inspection, {.ranks = node == "a" ? "0" : "2"}, true});
    }
  }
  Ranks shown() const { return machine_->status(now_, 0).summary.debugged; }

  int round_ = 0;
  bool was_asked_ = false;  // node a, to look at its workers
};

TEST_CASE_METHOD(DebuggedFixture, "every node learns which ranks are debugged, when that changes") {
  debugs("a", {kWaiting});
  CHECK(ordered<RanksDebugged>("a") == RanksDebugged{round_, {kWaiting}});
  CHECK(ordered<RanksDebugged>("b") == RanksDebugged{round_, {kWaiting}});
  CHECK(shown() == Ranks{kWaiting});
  debugs("a", {kWaiting});
  CHECK_FALSE(order<RanksDebugged>("a"));
  debugs("b", {{.rank = 2}});
  CHECK(ordered<RanksDebugged>("a").ranks == Ranks{kWaiting, {.rank = 2}});
  debugs("a", {});
  CHECK(ordered<RanksDebugged>("a").ranks == Ranks{{.rank = 2}});
  debugs("b", {});
  CHECK(ordered<RanksDebugged>("a").ranks.empty());
  CHECK(ordered<RanksDebugged>("b").ranks.empty());
  CHECK(shown().empty());
}

TEST_CASE_METHOD(DebuggedFixture, "a node speaks for its own ranks, and for the round that runs") {
  debugs("b", {kWaiting});
  says("a", Debugging{round_ + 1, {kWaiting}});
  CHECK(shown().empty());
}

TEST_CASE_METHOD(DebuggedFixture, "nobody is called hung while a rank waits for a debugger") {
  debugs("a", {kWaiting});
  stands_still(60s);
  CHECK_FALSE(was_asked_);
  CHECK_FALSE(order<HangFound>("a"));
  debugs("a", {});
  tells_progress(60'000);
  stands_still(2500ms);
  CHECK_FALSE(order<HangFound>("a"));
  stands_still(2500ms);
  CHECK(ordered<HangFound>("a").report.missing_ranks == "1");
}

TEST_CASE_METHOD(DebuggedFixture, "a suspicion is dropped when a rank is debugged") {
  passes_beating(3s, {"a", "b"});
  const auto asked = ordered<Inspect>("a");
  debugs("a", {{.rank = 1}});
  for (const NodeId node : {"a", "b"}) says(node, Inspected{asked.inspection, {}, true});
  stands_still(10s);
  CHECK_FALSE(order<HangFound>("a"));
}

TEST_CASE_METHOD(DebuggedFixture, "a hang that was reported before stays until it is over") {
  stands_still(5s);
  REQUIRE(order<HangFound>("a"));
  debugs("a", {{.rank = 1}});
  stands_still(20s);
  debugs("a", {});
  tells_progress(25'000);
  stands_still(20s);
  CHECK(machine_->observers().watch().hang());
  CHECK_FALSE(order<HangOver>("a"));
  says("a", Progress{round_, {{.rank = 0, .watched = true, .groups = {{"0", 12, 12}}}}});
  stands_still(2s);
  CHECK(ordered<HangOver>("a").lasted_ms >= 45'000);
}

TEST_CASE_METHOD(DebuggedFixture, "a hang that ends while a rank is debugged is over") {
  stands_still(5s);
  REQUIRE(order<HangFound>("a"));
  debugs("a", {{.rank = 1}});
  says("a", Progress{round_, {{.rank = 0, .watched = true, .groups = {{"0", 12, 12}}}}});
  debugs("a", {});
  stands_still(2s);
  CHECK(order<HangOver>("a"));
}

TEST_CASE_METHOD(DebuggedFixture,
                 "a rank that gives up to wait for one that is debugged makes it no hang") {
  const WorkerFailed gives_up = failed(round_, 2, {.code = 1}, Consequence::kCollectiveTimedOut);
  SECTION("later") {
    debugs("a", {{.rank = 1}});
    says("b", gives_up);
    CHECK_FALSE(order<Inspect>("a"));
  }
  SECTION("just before") {
    says("b", gives_up);
    debugs("a", {{.rank = 1}});
    stands_still(2s);
  }
  stands_still(5s);
  CHECK(order<StopRound>("a"));
  CHECK_FALSE(order<HangFound>("a"));
}

TEST_CASE_METHOD(DebuggedFixture, "no rank is called slow while one is debugged") {
  const bool is_debugged = GENERATE(false, true);
  if (is_debugged) debugs("b", {{.rank = 3}});
  TrainingModel training{4, [](int rank, int) { return 97'000 + (rank == 3 ? 25'000 : 0); }};
  for (int look = 0; look < 3; ++look) {
    training.train(40);
    passes_beating(5s, {"a", "b"});
    for (int rank = 0; rank < 4; ++rank)
      says(rank < 2 ? "a" : "b", Arrivals{round_, rank, training.now_us(), {training.told(rank)}});
  }
  CHECK(order<StragglerFound>("a").has_value() != is_debugged);
}

TEST_CASE_METHOD(DebuggedFixture, "nothing of a round's debuggers is left in the next one") {
  debugs("a", {kWaiting});
  fails("b", round_, 2);
  CHECK(shown().empty());
  for (const NodeId node : {"a", "b"}) says(node, WorkersStopped{round_});
  REQUIRE(start("a").round == round_ + 1);
  order<RanksDebugged>("a");
  round_ += 1;
  tells_progress();
  stands_still(6s);
  CHECK_FALSE(order<RanksDebugged>("a"));
  CHECK(order<HangFound>("a"));
}

TEST_CASE_METHOD(DebuggedFixture, "who comes while a rank is debugged hears of it") {
  debugs("a", {kWaiting});
  joins("c", 2);
  CHECK(order<Spare>("c"));
  CHECK(ordered<RanksDebugged>("c").ranks == Ranks{kWaiting});
  CHECK(ordered<RanksDebugged>("b").ranks == Ranks{kWaiting});
  passes_beating(1s, {"a", "b", "c"});
  CHECK_FALSE(order<RanksDebugged>("c"));
}

/// A job at a `ddprun server`, whose nodes come back with their workers.
class DebuggedAtServer : public RoundFixture {
 protected:
  DebuggedAtServer() {
    now_ += 1h;
    begins({});
    for (const NodeId node : {"a", "b"}) says(node, agent(node));
    CHECK(start("a").round == 1);
  }
  /// A server that was started at that time, and knows nothing.
  void begins(TimePoint since) {
    job({.terms = {.nodes_min = 2, .nodes_max = 2, .hang_timeout = 3s},
         .leadership = LeadershipKind::kServer,
         .server_since = since});
  }
  Join agent(const NodeId& node) {
    Join join = join_of(node, 2);
    join.incarnation = ++joins_;
    join.voter.standby_port = 7;
    return join;
  }
  void comes_back(const NodeId& node) {
    const int rank = node == "a" ? 0 : 1;
    Join join = agent(node);
    join.counters = {1, 0};
    join.voter.running = 1;
    join.voter.assignment = {1, 2, rank, 2 * rank, 4, 2'000};
    says(node, join);
    REQUIRE(ordered<Joined>(node).resumed);
  }

  int joins_ = 0;
};

TEST_CASE_METHOD(DebuggedAtServer, "a node that comes back hears which ranks are debugged") {
  comes_back("b");
  CHECK_FALSE(order<RanksDebugged>("b"));
  says("a", Debugging{1, {kWaiting}});
  CHECK(order<RanksDebugged>("b"));
  comes_back("b");
  CHECK(ordered<RanksDebugged>("b") == RanksDebugged{1, {kWaiting}});
  says("a", Debugging{1, {}});
  comes_back("b");  // it may have missed that
  CHECK(ordered<RanksDebugged>("b").ranks.empty());
}

TEST_CASE_METHOD(DebuggedAtServer, "a server that was started again learns who is debugged") {
  says("a", Debugging{1, {kWaiting}});
  begins(now_);
  comes_back("a");
  says("a", Debugging{1, {kWaiting}});
  CHECK(ordered<RanksDebugged>("a").ranks == Ranks{kWaiting});
  comes_back("b");
  CHECK(ordered<RanksDebugged>("b").ranks == Ranks{kWaiting});
}

TEST_CASE_METHOD(DebuggedAtServer, "nodes learn what has ended while the server was away") {
  says("a", Debugging{1, {kWaiting}});
  begins(now_);
  for (const NodeId node : {"a", "b"}) comes_back(node);
  says("a", Debugging{1, {}});
  CHECK(ordered<RanksDebugged>("b").ranks.empty());
}

}  // namespace
}  // namespace ddprun
