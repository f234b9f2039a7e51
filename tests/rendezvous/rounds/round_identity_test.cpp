// CoordinatorMachine and who is who: agents that connect again, machines that were started again,
// and coordinators that know nothing of the rounds before them.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class IdentityFixture : public RoundFixture {
 protected:
  /// The agent of `node` connects again; what it knows it has from the coordinator before.
  void joins_again(const NodeId& node, std::int64_t incarnation, JobCounters counters = {},
                   int node_rank = -1) {
    Join join = join_of(node, 1, node_rank);
    join.incarnation = incarnation;
    join.counters = counters;
    says(node, join);
  }
  void knows(const NodeId& node, JobCounters counters) { joins_again(node, 1, counters); }
  /// Two nodes run round 1, each with the rank that it has asked for.
  void two_run_with_wanted_ranks() {
    job({.nodes_min = 2, .nodes_max = 2});
    joins("a", 1, 0);
    joins("b", 1, 1);
    CHECK(start("a").group_rank == 0);
    CHECK(start("b").group_rank == 1);
  }
};

TEST_CASE_METHOD(IdentityFixture,
                 "a newer connection replaces the older one at once, and keeps the rank") {
  two_run_with_wanted_ranks();
  const PeerId old = peers_["b"];
  joins_again("b", 2, {1, 0}, 1);
  CHECK(dropped(old));
  CHECK(order<Joined>("b").has_value());
  CHECK(ordered<StopRound>("a").reason == "node b joined again");
  CHECK_FALSE(order<StopRound>("b").has_value());  // it has stopped before it connected again
  says("a", WorkersStopped{1});
  const StartRound second = start("b");
  CHECK(second.round == 2);
  CHECK(second.attempt == 0);
  CHECK(second.group_rank == 1);
  CHECK(start("a").group_rank == 0);
}

TEST_CASE_METHOD(IdentityFixture, "what still comes over a replaced connection is not heard") {
  two_run_with_wanted_ranks();
  const PeerId old = peers_["b"];
  joins_again("b", 2, {1, 0}, 1);
  CHECK(order<StopRound>("a").has_value());
  says("a", WorkersStopped{1});
  CHECK(start("b").round == 2);
  step(FromPeer{old, Preempt{"from the grave", 1000}});
  step(PeerLost{old, "connection reset"});
  CHECK_FALSE(order<StopRound>("a").has_value());
  CHECK_FALSE(dropped("b"));
}

TEST_CASE_METHOD(IdentityFixture, "an older or equal connection replaces nothing, and is refused") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins_again("b", 5);
  const PeerId current = peers_["b"];
  for (const std::int64_t late : {5, 4, 1}) {
    joins_again("b", late);
    CHECK(dropped("b"));
    CHECK(ordered<Refused>("b").reason ==
          "the agent on b has joined over a newer connection already");
  }
  CHECK_FALSE(dropped(current));
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(IdentityFixture,
                 "a node that comes back while the others stop is not waited for") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  joins("a");
  joins("b");
  fails("a", 1);
  joins_again("b", 2, {1, 1});
  says("a", WorkersStopped{1});
  CHECK(start("b").attempt == 1);
}

TEST_CASE_METHOD(IdentityFixture, "a node that had finished and lost its connection runs again") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  says("b", WorkersFinished{1});
  joins_again("b", 2, {1, 0});
  CHECK(order<StopRound>("a").has_value());
  says("a", WorkersStopped{1});
  CHECK(start("b").round == 2);
}

TEST_CASE_METHOD(IdentityFixture, "a spare that connects again stays a spare, and keeps its turn") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  joins("first");
  joins("second");
  joins_again("first", 2, {1, 0});
  CHECK(order<Spare>("first") == Spare{1, 1});
  CHECK_FALSE(order<StopRound>("a").has_value());
  is_lost("a");
  CHECK(start("first").round == 2);
}

TEST_CASE_METHOD(IdentityFixture, "an agent does not ask for another rank half-way") {
  two_run_with_wanted_ranks();
  joins_again("b", 2, {1, 0}, 0);
  CHECK(ordered<Refused>("b").reason == "the agent on b has asked for another node rank before");
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(IdentityFixture, "who was in the job and comes after its end hears how it ended") {
  job(JobTerms{});
  joins("a");
  says("a", WorkersFinished{1});
  joins_again("a", 2, {1, 0});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFinished);
  CHECK(dropped("a"));
}

// --- a machine that was started again: a new agent wants the rank of one that nobody has missed
// ---

TEST_CASE_METHOD(IdentityFixture, "a rank whose node is silent goes to the one that asks for it") {
  two_run_with_wanted_ranks();
  passes_beating(1s, {"a"});
  joins("b2", 1, 1);
  CHECK(order<Joined>("b2").has_value());  // it shows that it is alive, and is shown
  CHECK_FALSE(order<StopRound>("a").has_value());
  passes_beating(3s, {"a", "b2"});
  CHECK_FALSE(dropped("b"));
  CHECK_FALSE(dropped("b2"));
  passes_beating(1s, {"a", "b2"});
  CHECK(dropped("b"));
  CHECK(order<StopRound>("a").has_value());
  says("a", WorkersStopped{1});
  CHECK(start("b2").group_rank == 1);
}

TEST_CASE_METHOD(IdentityFixture, "a rank whose node goes is free at once") {
  two_run_with_wanted_ranks();
  joins("b2", 1, 1);
  is_lost("b");
  says("a", WorkersStopped{1});
  CHECK(start("b2").group_rank == 1);
}

TEST_CASE_METHOD(IdentityFixture, "what a dead node has left behind does not keep its rank") {
  two_run_with_wanted_ranks();
  joins("b2", 1, 1);
  passes(2s);
  says("b", Beat{});  // it was in flight
  CHECK_FALSE(dropped("b2"));
  passes_beating(5s, {"a", "b2"});
  CHECK(dropped("b"));
  CHECK_FALSE(dropped("b2"));
}

TEST_CASE_METHOD(IdentityFixture, "the coordinator's own sleep is no proof that a node is alive") {
  two_run_with_wanted_ranks();
  joins("b2", 1, 1);
  now_ += 1h;
  for (const char* node : {"b", "a", "b2"}) says(node, Beat{});
  CHECK_FALSE(dropped("b2"));
  passes_beating(3s, {"a", "b", "b2"});
  CHECK(dropped("b2"));
}

TEST_CASE_METHOD(IdentityFixture,
                 "with a long heartbeat timeout a contender is refused in seconds") {
  job({.nodes_min = 2, .nodes_max = 2, .heartbeat_timeout = 60s});
  joins("a", 1, 0);
  joins("b", 1, 0);
  passes(4'999ms);
  says("a", Beat{});
  CHECK_FALSE(dropped("b"));
  passes(1ms);
  says("a", Beat{});
  CHECK(dropped("b"));
}

TEST_CASE_METHOD(IdentityFixture, "a contender is no node of the job yet") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a", 1, 0);
  joins("b", 1, 0);
  CHECK_FALSE(order<StartRound>("a").has_value());
  says("b", Preempt{"SIGUSR1", 1000});
  CHECK_FALSE(machine_->ended());
}

// --- a coordinator that was restarted ---

TEST_CASE_METHOD(IdentityFixture,
                 "a new coordinator goes on from the greatest that a member knows") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3});
  knows("a", {4, 1});
  knows("b", {5, 2});
  const StartRound next = start("a");
  CHECK(next.round == 6);
  CHECK(next.attempt == 2);
  CHECK(start("b").round == 6);
  for (const int attempt : {2, 3}) {
    fails("a", 4 + attempt);
    for (const char* node : {"a", "b"}) says(node, WorkersStopped{4 + attempt});
  }
  CHECK(ordered<EndJob>("a").restarts == 3);
}

TEST_CASE_METHOD(IdentityFixture, "a job whose last attempt has failed is not run once more") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  knows("a", {3, 1});
  knows("b", {3, 2});
  CHECK_FALSE(order<StartRound>("a").has_value());
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == EndJob::Outcome::kFailed);
  CHECK(end.restarts == 1);
  CHECK_THAT(end.message, contains("the last attempt has failed"));
}

TEST_CASE_METHOD(IdentityFixture, "the order to stop tells whether there will be another attempt") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1, .last_call_timeout = 0s});
  joins("a");
  joins("b");
  fails("a", 1);
  CHECK(ordered<StopRound>("b").attempt == 1);
  for (const char* node : {"a", "b"}) says(node, WorkersStopped{1});
  is_lost("b");
  CHECK(ordered<StopRound>("a").attempt == 1);  // a lost node costs nothing
  says("a", WorkersStopped{2});
  joins("b");
  fails("a", 3);
  CHECK(ordered<StopRound>("b").attempt == 2);
}

TEST_CASE_METHOD(IdentityFixture,
                 "a spare's numbers do not touch the budget, until it is a member") {
  job({.nodes_min = 1, .nodes_max = 1, .restarts_max = 1});
  joins("a");
  knows("spare", {900, 1});
  fails("a", 1);
  says("a", WorkersStopped{1});
  const StartRound second = start("a");
  CHECK(second.round == 2);
  CHECK(second.attempt == 1);
  is_lost("a");
  CHECK(start("spare").round == 901);
}

}  // namespace
}  // namespace ddprun
