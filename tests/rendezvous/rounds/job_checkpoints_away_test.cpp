// JobCheckpoints where nodes lose their connection, or the coordinator its job.
#include "tests/rendezvous/rounds/checkpoints_fixture.hpp"

namespace ddprun {
namespace {

TEST_CASE_METHOD(CheckpointsFixture, "orders that were lost with a connection are given again") {
  const auto comes_back = [this](const NodeId& node, int part) {
    Join join = join_of(node);
    join.incarnation = 2;
    says(node, join);
    REQUIRE(order<Joined>(node));
    CHECK(told(node).empty());
    holds(node, {{.number = 1, .part = part, .parts = 2}});
  };
  runs(2);
  all_keep(1);
  stops_after_failure_of("b");
  SECTION("to stage") {
    staged("a", 1);
    hear_all();
    comes_back("b", 1);
    CHECK(told("a") == Texts{"stage 1"});
    CHECK(told("b") == Texts{"stage 1"});
    all_stage(1);
    wrote("a", 1);
  }
  SECTION("to move") {
    all_stage(1);
    hear_all();
    comes_back("a", 0);
    CHECK(told("b") == Texts{"stage 1"});
    all_stage(1);
    CHECK(told("a") == Texts{"stage 1", "move 1 of 2"});
    wrote("a", 1);
  }
  SECTION("to look") {
    all_stage(1);
    wrote("a", 1);
    comes_back("a", 0);
    CHECK(told("a") == Texts{"look"});
  }
  wrote("a", 1);
  CHECK(start("b").checkpoint.number == 1);
}

TEST_CASE_METHOD(CheckpointsFixture, "a checkpoint does not count whose part is lost meanwhile") {
  runs(2);
  holds("b", {}, 0, true);
  says("b", WorkersFinished{1});
  saved("a");
  kept("b", 1);
  is_lost("b");
  kept("a", 1);
  CHECK(told("a") == Texts{"keep 1"});
}

TEST_CASE("a coordinator that leads again waits for nothing that it ordered before") {
  const CoordinatorRules rules{.terms = {.nodes_min = 1, .nodes_max = 2, .checkpoints = true}};
  Roster nodes;
  JobState job;
  Outbox out;
  JobCheckpoints checkpoints{nodes, rules, job, out};
  job.counters.round = 1;
  for (const int rank : {0, 1}) {
    const NodeId id = rank == 0 ? "a" : "b";
    nodes.add(rank + 1, Join{.node = id}, rank, TimePoint{}).seats.enter(1, rank, rank);
    checkpoints.holds(id, {});
  }
  checkpoints.begin_round(2, {});
  checkpoints.said("a", {.what = CheckpointSaid::What::kSaved}, TimePoint{});
  REQUIRE(out.take(false).size() == 2);
  nodes.clear();
  checkpoints.stand_by();
  nodes.add(3, Join{.node = "b"}, 2, TimePoint{});
  CHECK_FALSE(checkpoints.settle());
  CHECK(out.take(false).empty());
  checkpoints.holds("b", {.written = 4});
  CHECK_FALSE(checkpoints.settle());
  CHECK(out.take(false).size() == 1);
  checkpoints.said("b", {.what = CheckpointSaid::What::kWritten, .number = 4, .done = true},
                   TimePoint{});
  CHECK(checkpoints.settle());
  CHECK(checkpoints.next().number == 4);
}

/// Nodes whose workers outlive their connection, as each may succeed the coordinator.
class AwayFixture : public CheckpointsFixture {
 protected:
  Join standing_by(const NodeId& node, int running = 0) const {
    Join join = join_of(node);
    join.voter.standby_port = 7;
    join.voter.running = running;
    join.counters.round = running;
    return join;
  }
  void elected(int nodes) {
    job({.terms = terms_of(1, nodes), .leadership = LeadershipKind::kElected, .endpoint = "a:1"});
    for (int node = 0; node < nodes; ++node) {
      nodes_.push_back(std::string(1, static_cast<char>('a' + node)));
      says(nodes_.back(), standing_by(nodes_.back()));
    }
    for (const NodeId& node : nodes_) holds(node, {});
    wrote("a", 0);
    for (const NodeId& node : nodes_) {
      says(node, Beat{.clock_us = microseconds(now_),
                      .echo_us = microseconds(now_),
                      .round = 1,
                      .epoch = 1});
      says(node, WorkersStarted{1});
    }
    REQUIRE(order<StartRound>("b"));
    hear_all();
  }
  /// The node's connection breaks, and it comes back at once.
  void reconnects(const NodeId& node, std::vector<CheckpointPart> parts) {
    is_lost(node);
    Join join = standing_by(node, 1);
    join.incarnation = 2;
    says(node, join);
    REQUIRE(ordered<Joined>(node).resumed);
    holds(node, std::move(parts));
  }
};

TEST_CASE_METHOD(AwayFixture, "an order to keep that was lost on its way holds up no later one") {
  elected(2);
  saved("a");
  kept("a", 1);
  reconnects("b", {});
  saved("b");
  CHECK(told("b") == Texts{"keep 2"});
}

TEST_CASE_METHOD(AwayFixture, "a save is kept again where a node was away meanwhile") {
  elected(2);
  saved("a");
  kept("b", 1);
  reconnects("b", {});
  CHECK(told("a") == Texts{"keep 1", "keep 2"});
  kept("a", 2);
  kept("b", 2);
  CHECK(told("a") == Texts{"counts 2", "stage 2"});
}

TEST_CASE_METHOD(AwayFixture, "the last save is kept although an order to keep it was lost") {
  elected(2);
  all_finish();
  CHECK(told("b") == Texts{"keep 1 at end"});
  reconnects("b", {});
  CHECK(told("b") == Texts{"keep 2 at end"});
  kept("a", 2);
  kept("b", 2);
  CHECK(told("a") == Texts{"keep 1 at end", "keep 2 at end", "counts 2", "stage 2"});
}

TEST_CASE_METHOD(AwayFixture, "a node hears again that its part counts, where that was lost") {
  elected(2);
  saved("a");
  kept("a", 1, true, {"old.pt"});
  kept("b", 1, true);
  hear_all();
  SECTION("with its connection") {
    reconnects("b", {});
    CHECK(told("b") == Texts{"counts 1 -old.pt"});
  }
  SECTION("but not where it has heard") {
    reconnects("b", {{1, 1, 2}});
    CHECK(told("b").empty());
  }
}

TEST_CASE_METHOD(AwayFixture, "nothing spins where a node has not heard that its part counts") {
  elected(2);
  all_keep(1);
  staged("a", 1, false);
  reconnects("b", {});
  hear_all();
  for (int seconds = 0; seconds < 40; ++seconds) {
    passes(1s);
    for (const NodeId& node : nodes_)
      says(node, Beat{.clock_us = microseconds(now_),
                      .echo_us = microseconds(now_),
                      .round = 1,
                      .epoch = 1});
  }
  CHECK(told("a") == Texts{"stage 1"});
}

}  // namespace
}  // namespace ddprun
