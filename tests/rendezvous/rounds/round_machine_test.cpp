#include <csignal>

#include "rendezvous/rounds/coordinator_machine.hpp"
#include "rendezvous/rounds/rank_assignment.hpp"
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Whether that is what the job waits for; the clocks are passed over.
bool is_waiting(const std::optional<Waiting>& told, int nodes, int nodes_min, int nodes_max,
                std::int64_t left_ms) {
  return told && told->nodes == nodes && told->nodes_min == nodes_min &&
         told->nodes_max == nodes_max && told->left_ms == left_ms;
}

TEST_CASE_METHOD(RoundFixture, "a job of one node starts as soon as the node has joined") {
  job({.master_addr = "127.0.0.1", .master_port = 4000});
  joins("a", 2);
  const StartRound round = start("a");
  CHECK(round.round == 1);
  CHECK(round.attempt == 0);
  CHECK(round.first_rank == 0);
  CHECK(round.world_size == 2);
  CHECK(round.master_addr == "127.0.0.1");
  CHECK(round.master_port == 4000);
  CHECK(stores_opened_ == 1);
}

TEST_CASE_METHOD(RoundFixture, "all workers finished ends the job, and only then") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  says("a", WorkersFinished{1});
  CHECK_FALSE(order<EndJob>("a").has_value());
  says("b", WorkersFinished{1});
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == EndJob::Outcome::kFinished);
  CHECK(order<EndJob>("b").has_value());
  CHECK(machine_->ended());
}

TEST_CASE_METHOD(RoundFixture, "a failed worker stops all nodes, and then all start again") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  joins("a");
  joins("b");
  CHECK(start("a").round == 1);
  CHECK(start("b").round == 1);
  fails("b", 1, 1);
  CHECK(ordered<StopRound>("a").reason == "rank 1 exited with code 1");
  CHECK(ordered<StopRound>("b").round == 1);
  says("a", WorkersStopped{1});
  CHECK_FALSE(order<StartRound>("a").has_value());  // b's workers may still be alive
  says("b", WorkersStopped{1});
  const StartRound second = start("a");
  CHECK(second.round == 2);
  CHECK(second.attempt == 1);
  CHECK(start("b").attempt == 1);
  CHECK(stores_opened_ == 2);
}

TEST_CASE_METHOD(RoundFixture,
                 "a failure that is reported for an earlier round changes nothing in this one") {
  job({.nodes_min = 1, .nodes_max = 1, .restarts_max = 2});
  joins("a");
  fails("a", 1);
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
  order<StopRound>("a");
  fails("a", 1);
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(RoundFixture, "when the budget is spent the first failure is the verdict") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  fails("b", 1, 1);
  fails("a", 1, 0);  // a consequence of the first
  CHECK_FALSE(order<EndJob>("a").has_value());
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == EndJob::Outcome::kFailed);
  REQUIRE(end.failure.has_value());
  CHECK(end.failure->rank == 1);
  CHECK(ordered<EndJob>("b") == end);
}

TEST_CASE_METHOD(RoundFixture, "a report about an earlier round changes nothing") {
  job({.restarts_max = 5});
  joins("a");
  fails("a", 1);
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
  fails("a", 1);
  says("a", WorkersStopped{1});
  says("a", WorkersFinished{1});
  CHECK_FALSE(order<StartRound>("a").has_value());
  CHECK_FALSE(machine_->ended());
}

TEST_CASE_METHOD(RoundFixture, "a node whose workers had finished takes part in the restart") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  joins("a");
  joins("b");
  says("a", WorkersFinished{1});
  fails("b", 1, 1);
  CHECK(order<StopRound>("a").has_value());
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  CHECK(start("a").round == 2);
}

TEST_CASE_METHOD(RoundFixture,
                 "between MIN and MAX nodes the first round waits for the last call") {
  job({.nodes_min = 1, .nodes_max = 3});
  joins("a");
  passes(29s);
  says("a", Beat{});
  CHECK_FALSE(order<StartRound>("a").has_value());
}

TEST_CASE_METHOD(RoundFixture, "the last call ends, and the round is sealed with present nodes") {
  job({.nodes_min = 2, .nodes_max = 3, .heartbeat_timeout = 60s});
  joins("a");
  joins("b");
  passes(29'999ms);
  CHECK_FALSE(order<StartRound>("a").has_value());
  passes(1ms);
  CHECK(start("a").group_world_size == 2);
}

TEST_CASE_METHOD(RoundFixture, "a last call that outlasts the join timeout is waited for") {
  job({.nodes_min = 2, .nodes_max = 3, .join_timeout = 60s, .heartbeat_timeout = 1000s});
  joins("a");
  passes(50s);
  joins("b");
  passes(29s);
  CHECK_FALSE(machine_->ended());
  passes(1s);
  CHECK(start("a").group_world_size == 2);
}

TEST_CASE_METHOD(RoundFixture, "ranks follow the nodes' worker counts") {
  job({.nodes_min = 3, .nodes_max = 3});
  joins("a", 4);
  joins("b", 2);
  joins("c", 1);
  CHECK(start("a").first_rank == 0);
  CHECK(start("b").first_rank == 4);
  const StartRound last = start("c");
  CHECK(last.first_rank == 6);
  CHECK(last.world_size == 7);
  CHECK(last.group_rank == 2);
}

TEST_CASE_METHOD(RoundFixture, "a node gets the rank that it asks for") {
  job({.nodes_min = 3, .nodes_max = 3});
  joins("a", 1, 2);
  joins("b");
  joins("c", 1, 0);
  CHECK(start("a").group_rank == 2);
  CHECK(start("b").group_rank == 1);
  CHECK(start("c").group_rank == 0);
}

TEST_CASE_METHOD(RoundFixture, "the loss of a node is no restart, and others keep their ranks") {
  job({.nodes_min = 2, .nodes_max = 3});
  joins("a");
  joins("b");
  joins("c");
  is_lost("c");
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  const StartRound second = start("b");
  CHECK(second.round == 2);
  CHECK(second.attempt == 0);
  CHECK(second.group_rank == 1);
  CHECK(second.group_world_size == 2);
}

TEST_CASE_METHOD(RoundFixture, "a spare takes the place of a lost node at once") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  joins("spare");
  CHECK_FALSE(order<StopRound>("a").has_value());  // the round is full: nobody is disturbed
  is_lost("a");
  says("b", WorkersStopped{1});
  CHECK(start("b").group_rank == 1);
  CHECK(start("spare").group_rank == 0);
}

TEST_CASE_METHOD(RoundFixture,
                 "a node that joins an unfilled round makes a new one, free of charge") {
  job({.nodes_min = 1, .nodes_max = 2, .last_call_timeout = 0s});
  joins("a");
  CHECK(start("a").group_world_size == 1);
  joins("b");
  CHECK(ordered<StopRound>("a").reason == "node b joined");
  says("a", WorkersStopped{1});
  CHECK(start("a").attempt == 0);
  CHECK(start("b").group_world_size == 2);
}

TEST_CASE_METHOD(RoundFixture, "below MIN the job waits, then ends saying how many were there") {
  job({.nodes_min = 2, .nodes_max = 2, .join_timeout = 60s, .heartbeat_timeout = 1000s});
  joins("a");
  joins("b");
  is_lost("b");
  says("a", WorkersStopped{1});
  passes(59s);
  CHECK_FALSE(machine_->ended());
  passes(1s);
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == EndJob::Outcome::kTooFewNodes);
  CHECK(end.message == "waited 60 s for nodes: 1 there, 2 needed (node b lost: connection closed)");
}

TEST_CASE_METHOD(RoundFixture, "a node that is silent for the heartbeat timeout is lost") {
  job({.nodes_min = 1, .nodes_max = 2, .last_call_timeout = 0s, .heartbeat_timeout = 5s});
  joins("a");
  joins("b");
  says("a", WorkersStopped{1});
  for (int second = 0; second < 6; ++second) {
    passes(1s);
    says("a", Beat{});
  }
  CHECK(dropped("b"));
  CHECK_FALSE(dropped("a"));
  CHECK(order<Beat>("a").has_value());  // beats are answered
}

TEST_CASE_METHOD(RoundFixture, "the one node of a job is not lost to the process that it is in") {
  job({.heartbeat_timeout = 5s});
  joins("a");
  passes(60s);
  CHECK_FALSE(dropped("a"));
  CHECK_FALSE(order<StopRound>("a").has_value());
}

TEST_CASE_METHOD(RoundFixture, "silence is noticed among any number of nodes that beat") {
  job({.nodes_min = 2, .nodes_max = 2, .heartbeat_timeout = 5s});
  joins("a");
  joins("b");
  for (int beats = 0; beats < 60; ++beats) {  // oftener than ticks
    passes(100ms);
    says("a", Beat{});
  }
  CHECK(dropped("b"));
}

TEST_CASE_METHOD(RoundFixture, "a silent node is lost when the timeout ends, not later") {
  job({.nodes_min = 2, .nodes_max = 2, .heartbeat_timeout = 5s});
  joins("a");
  passes(30ms);  // between two looks at the clock
  joins("b");
  for (int second = 0; second < 4; ++second) {
    passes(1s);
    says("b", Beat{});
  }
  passes(969ms);
  CHECK_FALSE(dropped("a"));
  passes(1ms);
  CHECK(dropped("a"));
  CHECK_FALSE(dropped("b"));
}

TEST_CASE_METHOD(RoundFixture, "a coordinator that slept itself gives everybody another chance") {
  job({.heartbeat_timeout = 5s});
  joins("a");
  now_ += 1h;  // Ctrl-Z, then fg: the first event is whatever comes first
  says("unknown", Beat{});
  passes(1s);
  CHECK_FALSE(dropped("a"));
}

TEST_CASE_METHOD(RoundFixture, "a node that cannot take part gets the reason") {
  job({.run_id = "mine"});
  says("odd", Join{.run_id = "other", .node = "odd", .host = "h2"});
  CHECK(dropped("odd"));
  CHECK_THAT(ordered<Refused>("odd").reason, contains("'--rdzv-id=other' on h2"));
}

TEST_CASE_METHOD(RoundFixture, "a node that comes after the end is refused") {
  job(JobTerms{});
  joins("a");
  says("a", WorkersFinished{1});
  joins("late");
  CHECK(ordered<Refused>("late").reason == "the job has already ended");
}

TEST_CASE_METHOD(RoundFixture, "a node that leaves after its workers finished disturbs nobody") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  says("a", WorkersFinished{1});
  says("a", Leave{"stopped by SIGTERM"});
  CHECK_FALSE(order<StopRound>("b").has_value());
  says("b", WorkersFinished{1});
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(RoundFixture, "newcomers get their ranks in the order of their hosts' names") {
  job({.nodes_min = 3, .nodes_max = 3});
  for (const char* node : {"node10", "node9", "node1"}) joins(node);
  CHECK(start("node1").group_rank == 0);
  CHECK(start("node9").group_rank == 1);
  CHECK(start("node10").group_rank == 2);
}

TEST_CASE_METHOD(RoundFixture, "an option that differs is named with both values") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3});
  says("b", Join{.node = "b", .host = "h2", .terms = {2, 2, 1}});
  const auto refused = ordered<Refused>("b");
  CHECK(refused.reason ==
        "options differ between the nodes: '--max-restarts=3' at the coordinator, "
        "'--max-restarts=1' on h2");
  says("c", Join{.node = "c",
                 .host = "h3",
                 .terms = {
                     .nodes_min = 2, .nodes_max = 2, .restarts_max = 3, .store = StoreAt::kLocal}});
  CHECK(ordered<Refused>("c").reason ==
        "options differ between the nodes: '--store=leader' at the coordinator, "
        "'--store=local' on h3");
}

TEST_CASE_METHOD(RoundFixture, "a beat is answered with what the job waits for") {
  job({.nodes_min = 2,
       .nodes_max = 3,
       .last_call_timeout = 10s,
       .join_timeout = 60s,
       .heartbeat_timeout = 100s});
  joins("a");
  passes(5s);
  says("a", Beat{});
  CHECK(is_waiting(order<Waiting>("a"), 1, 2, 3, 55'000));
  joins("b");
  passes(4s);
  says("a", Beat{});
  CHECK(is_waiting(order<Waiting>("a"), 2, 2, 3, 6'000));
  joins("c");
  says("a", Beat{});
  CHECK_FALSE(order<Waiting>("a").has_value());
  CHECK(order<Beat>("a").has_value());
}

TEST_CASE_METHOD(RoundFixture, "a node rank belongs to one node, until that is lost") {
  job({.nodes_min = 3, .nodes_max = 3});
  joins("a", 1, 1);
  joins("b", 1, 1);
  passes_beating(4s, {"a", "b"});
  CHECK(ordered<Refused>("b").reason ==
        "node rank 1 is a's already, b asks for it, too (--node-rank)");
  CHECK(dropped("b"));
  is_lost("a");
  joins("c", 1, 1);
  CHECK_FALSE(order<Refused>("c").has_value());
}

TEST_CASE_METHOD(RoundFixture, "when the last call falls below MIN the job waits as before it") {
  job({.nodes_min = 2, .nodes_max = 3, .join_timeout = 60s, .heartbeat_timeout = 1000s});
  joins("a");
  joins("b");
  passes(10s);
  is_lost("b");
  SECTION("and ends with the join timeout, which runs since it began to gather") {
    passes(49'999ms);
    CHECK_FALSE(machine_->ended());
    passes(1ms);
    CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kTooFewNodes);
  }
  SECTION("and says for how long") {
    says("a", Beat{});
    CHECK(is_waiting(order<Waiting>("a"), 1, 2, 3, 50'000));
  }
  SECTION("and makes a new last call for the next that comes") {
    passes(5s);
    joins("c");
    passes(29'999ms);
    CHECK_FALSE(order<StartRound>("c").has_value());
    passes(1ms);
    CHECK(start("c").group_world_size == 2);
  }
}

TEST_CASE_METHOD(RoundFixture, "the join timeout runs since gathering, not since the job began") {
  job({.nodes_min = 2, .nodes_max = 2, .join_timeout = 60s, .heartbeat_timeout = 1000s});
  joins("a");
  joins("b");
  passes(100s);
  is_lost("b");
  passes(45s);  // a's workers take their time to stop
  says("a", WorkersStopped{1});
  passes(59'999ms);
  CHECK_FALSE(machine_->ended());
  passes(1ms);
  CHECK(machine_->ended());
}

TEST_CASE_METHOD(RoundFixture, "a later round does not wait for a last call") {
  job({.nodes_min = 1, .nodes_max = 3, .restarts_max = 1, .last_call_timeout = 1s});
  joins("a");
  passes(1s);
  CHECK(start("a").round == 1);
  fails("a", 1);
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
}

TEST_CASE_METHOD(RoundFixture, "a spare is informed, and again when a round is sealed without it") {
  job({.nodes_min = 1, .nodes_max = 1, .restarts_max = 1});
  joins("a");
  joins("spare");
  CHECK(order<Spare>("spare") == Spare{1, 1});
  fails("a", 1);
  CHECK_FALSE(order<StopRound>("spare").has_value());
  says("a", WorkersStopped{1});
  CHECK(start("a").round == 2);
  CHECK(order<Spare>("spare") == Spare{2, 1, 1});
}

TEST_CASE_METHOD(RoundFixture, "a node that is lost while the others stop is not waited for") {
  job({.nodes_min = 1, .nodes_max = 2, .restarts_max = 1, .last_call_timeout = 0s});
  joins("a");
  joins("b");
  says("a", WorkersStopped{1});
  CHECK(start("a").group_world_size == 2);
  fails("a", 2);
  says("a", WorkersStopped{2});
  CHECK_FALSE(order<StartRound>("a").has_value());
  is_lost("b");
  CHECK(start("a").group_world_size == 1);
}

TEST_CASE_METHOD(RoundFixture, "a node that comes while the others stop is in the next round") {
  job({.nodes_min = 1, .nodes_max = 2, .restarts_max = 1, .last_call_timeout = 0s});
  joins("a");
  fails("a", 1);
  joins("b");
  CHECK_FALSE(order<Spare>("b").has_value());
  says("a", WorkersStopped{1});
  CHECK(start("a").group_world_size == 2);
  CHECK(start("b").attempt == 1);
}

TEST_CASE_METHOD(RoundFixture, "a node that comes when some have finished makes a new round") {
  job({.nodes_min = 2, .nodes_max = 3, .last_call_timeout = 0s});
  joins("a");
  joins("b");
  says("a", WorkersFinished{1});
  joins("c");
  CHECK(ordered<StopRound>("a").reason == "node c joined");
  CHECK(ordered<StopRound>("b").reason == "node c joined");
  for (const char* node : {"a", "b"}) says(node, WorkersStopped{1});
  CHECK(start("a").group_world_size == 3);
}

TEST_CASE_METHOD(RoundFixture, "a node whose workers have finished keeps its place in the round") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  says("a", WorkersFinished{1});
  joins("late");
  CHECK_FALSE(order<StopRound>("b").has_value());
  CHECK(order<Spare>("late") == Spare{1, 2});
}

TEST_CASE_METHOD(RoundFixture, "when all nodes are lost the job waits, and says so when it ends") {
  job({.join_timeout = 60s});
  joins("a");
  is_lost("a");
  CHECK_FALSE(machine_->has_nodes());
  passes(59'999ms);
  CHECK_FALSE(machine_->ended());
  passes(1ms);
  CHECK(machine_->ended());
  CHECK_FALSE(machine_->next_tick().has_value());
}

TEST_CASE_METHOD(RoundFixture, "ranks within a role follow the group ranks of its nodes") {
  job({.nodes_min = 3, .nodes_max = 3});
  const auto joins_as = [&](const NodeId& node, const std::string& role, int workers) {
    says(node,
         Join{.node = node, .host = node, .workers = workers, .role = role, .terms = rules_.terms});
  };
  joins_as("a", "trainer", 2);
  joins_as("b", "reader", 3);
  joins_as("c", "trainer", 4);
  const StartRound a = start("a");
  const StartRound b = start("b");
  const StartRound c = start("c");
  CHECK(std::pair{a.first_role_rank, a.role_world_size} == std::pair{0, 6});
  CHECK(std::pair{b.first_role_rank, b.role_world_size} == std::pair{0, 3});
  CHECK(std::pair{c.first_role_rank, c.role_world_size} == std::pair{2, 6});
  CHECK(c.first_rank == 5);
}

TEST_CASE_METHOD(RoundFixture, "a rank that is out of reach is not given, another is") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a", 1, 2);
  joins("b", 1, 1);
  CHECK(start("a").group_rank == 0);
  CHECK(start("b").group_rank == 1);
}

TEST_CASE_METHOD(RoundFixture, "of too many nodes those of the last round stay, then the oldest") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  joins("b");
  joins("first spare");
  joins("second spare");
  is_lost("a");
  says("b", WorkersStopped{1});
  CHECK(start("b").round == 2);
  CHECK(start("first spare").group_rank == 0);
  CHECK_FALSE(order<StartRound>("second spare").has_value());
}

TEST_CASE_METHOD(RoundFixture, "the store of a round is opened for all its workers, once") {
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a", 2);
  CHECK(stores_opened_ == 0);
  joins("b", 3);
  CHECK(stores_opened_ == 1);
  CHECK(store_world_size_ == 5);
}

TEST_CASE_METHOD(RoundFixture, "a port that is chosen after the rules is sent to the workers") {
  job({.master_port = 1});
  machine_->serve_store_at(4000);
  joins("a");
  CHECK(start("a").master_port == 4000);
}

TEST_CASE_METHOD(RoundFixture,
                 "a coordinator that slept less than half a timeout forgives nobody") {
  job({.nodes_min = 2, .nodes_max = 2, .heartbeat_timeout = 10s});
  joins("a");
  joins("b");
  for (int naps = 0; naps < 2; ++naps) {
    now_ += 5s;
    says("a", Beat{});
  }
  CHECK(dropped("b"));
  CHECK_FALSE(dropped("a"));
}

TEST_CASE("host names are ordered as people read them") {
  CHECK(naturally_before("n2", "n10"));
  CHECK_FALSE(naturally_before("n10", "n2"));
  CHECK(naturally_before("a9-ib1", "a10-ib0"));
  CHECK(naturally_before("a007", "a8"));
  CHECK(naturally_before("10.0.0.9", "10.0.0.10"));
  CHECK(naturally_before("n", "n1"));
  CHECK_FALSE(naturally_before("n1", "n1"));
}

TEST_CASE_METHOD(RoundFixture,
                 "an announced end asks all nodes for a checkpoint, then ends the job") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3});
  joins("a");
  joins("b");
  says("b", Preempt{"SIGUSR1", 60'000});
  says("a", Preempt{"SIGUSR1", 60'000});
  for (const char* node : {"a", "b"}) CHECK(ordered<StopRound>(node).checkpoint_ms == 60'000);
  fails("a", 1);  // a worker may go as it likes
  says("a", WorkersStopped{1});
  CHECK_FALSE(order<EndJob>("a").has_value());
  says("b", WorkersStopped{1});
  for (const char* node : {"a", "b"}) {
    const auto end = ordered<EndJob>(node);
    CHECK(end.outcome == EndJob::Outcome::kPreempted);
    CHECK(end.message == "SIGUSR1");
  }
}

TEST_CASE_METHOD(RoundFixture, "an announced end ends a job that is restarting, or still gathers") {
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 1});
  joins("a");
  joins("b");
  fails("a", 1);
  says("a", Preempt{"SIGUSR1", 60'000});
  says("a", WorkersStopped{1});
  says("b", WorkersStopped{1});
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kPreempted);
  job({.nodes_min = 2, .nodes_max = 2});
  joins("a");
  says("a", Preempt{"SIGUSR1", 60'000});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kPreempted);
}

TEST_CASE_METHOD(RoundFixture, "a job that has failed stays failed when its end is announced") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  fails("a", 1);
  says("a", Preempt{"SIGUSR1", 60'000});
  says("a", WorkersStopped{1});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kFailed);
}

TEST_CASE_METHOD(RoundFixture,
                 "a worker that dies of the warning itself is no failure of the job") {
  job({.nodes_min = 1, .nodes_max = 1});
  joins("a");
  says("a", failed(1, 0, {.signal = SIGUSR1}));
  says("a", Preempt{"SIGUSR1", 60'000});
  says("a", WorkersStopped{1});
  CHECK(ordered<EndJob>("a").outcome == EndJob::Outcome::kPreempted);
}

}  // namespace
}  // namespace ddprun
