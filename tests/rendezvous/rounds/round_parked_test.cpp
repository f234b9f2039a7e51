// What CoordinatorMachine makes of parked workers: of those that need as many of them as before,
// and of those that the coordinator before has left.
#include <csignal>

#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

/// Two nodes with two workers each, in round 1, none of which can do with more or fewer than four.
class NumberFixture : public RoundFixture {
 protected:
  void job_of(int nodes_min) {
    job({.nodes_min = nodes_min, .nodes_max = 2, .restarts_max = 9});
    for (const NodeId node : {"a", "b"}) says(node, join_of(node, 2));
    for (const NodeId node : {"a", "b"}) says(node, WorkersStay{1, true});
    for (const NodeId node : {"a", "b"}) REQUIRE(ordered<StartRound>(node).world_size == 4);
  }
  void parks(const NodeId& node, const std::string& local_ranks) {
    says(node, WorkersStopped{1, {local_ranks, 4}});
  }
};

TEST_CASE_METHOD(NumberFixture, "those that need their number wait for another worker") {
  job_of(2);
  says("a", failed(1, 1, {.signal = SIGKILL}));
  parks("a", "0");
  parks("b", "0-1");
  const auto start = ordered<StartRound>("a");
  CHECK(start.vacant.empty());
  CHECK(start.world_size == 4);
  CHECK_FALSE(order<StopRound>("b")->discard);
}

TEST_CASE_METHOD(NumberFixture, "they wait for one on a node that has lost all of its own") {
  job_of(1);
  for (const int rank : {2, 3}) says("b", failed(1, rank, {.signal = SIGKILL}));
  parks("a", "0-1");
  says("b", WorkersStopped{1});
  CHECK(ordered<StartRound>("b").world_size == 4);
}

TEST_CASE_METHOD(NumberFixture, "they wait for a node where the job cannot go on without one") {
  job_of(2);
  is_lost("b");
  parks("a", "0-1");
  CHECK_FALSE(ordered<StopRound>("a").discard);
  joins("c", 2);
  CHECK(ordered<StartRound>("a").world_size == 4);
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(NumberFixture, "a spare takes the place of a lost node, and they stay") {
  job_of(1);
  joins("c", 2);
  is_lost("b");
  parks("a", "0-1");
  CHECK_FALSE(ordered<StopRound>("a").discard);
  CHECK(ordered<StartRound>("c").world_size == 4);
}

TEST_CASE_METHOD(NumberFixture, "all are restarted where the job goes on with fewer nodes") {
  job_of(1);
  is_lost("b");
  CHECK(ordered<StopRound>("a").keep);
  parks("a", "0-1");
  const auto stop = ordered<StopRound>("a");
  CHECK(stop.discard);
  CHECK_FALSE(stop.keep);
  CHECK(stop.attempt == 0);  // does not count as a restart
  CHECK_FALSE(order<StartRound>("a").has_value());
  says("a", WorkersStopped{1});
  const auto start = ordered<StartRound>("a");
  CHECK(start.round == 2);
  CHECK(start.world_size == 2);
  says("a", WorkersStarted{2});
  says("a", Progress{2, {{.rank = 0, .step = 5}}});
  CHECK_FALSE(ordered<Restarted>("a").times.in_place);
}

TEST_CASE_METHOD(NumberFixture, "who does not end when it is discarded is lost") {
  job_of(1);
  is_lost("b");
  parks("a", "0-1");
  passes_beating(rules_.terms.heartbeat_timeout + std::chrono::minutes{1}, {"a"});
  CHECK(dropped("a"));
}

TEST_CASE_METHOD(RoundFixture, "seats that are vacant when a coordinator is lost stay vacant") {
  job({.restarts_max = 3});
  Join join = join_of("a", 3);
  join.counters = {6, 1};
  join.parked = {"0,2"};
  says("a", join);
  const auto start = ordered<StartRound>("a");
  CHECK(start.round == 7);
  CHECK(start.vacant == "1");
  CHECK(start.world_size == 2);
}

TEST_CASE_METHOD(RoundFixture, "who has left an older round that had another number is discarded") {
  job({.nodes_min = 2, .nodes_max = 2});
  Join join = join_of("a", 1);
  join.counters = {6, 0};
  join.parked = {"0", 4};
  says("a", join);
  CHECK_FALSE(order<StopRound>("a").has_value());
  joins("b", 1);
  CHECK(ordered<StopRound>("a").discard);
  says("a", WorkersStopped{3});
  CHECK(ordered<StartRound>("a").world_size == 2);
}

}  // namespace
}  // namespace ddprun
