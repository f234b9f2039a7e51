// Members change and nobody is lost: CoordinatorMachine has all stop after the same step.
#include <csignal>

#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

/// Two nodes with one worker each, in round 1, all of which can stay; a third one has joined.
class StopAtStepFixture : public RoundFixture {
 protected:
  StopAtStepFixture() {
    using std::chrono::seconds;
    job({.nodes_min = 1, .nodes_max = 3, .restarts_max = 9, .last_call_timeout = seconds{1}});
    for (const NodeId node : {"a", "b"}) says(node, join_of(node));
    passes_beating(seconds{1}, {"a", "b"});
    for (const NodeId node : {"a", "b"}) says(node, WorkersStay{1, true});
    says("c", join_of("c"));
    says("c", Prepared{});
    REQUIRE(ordered<StopRound>("a").gently);
    REQUIRE(ordered<StopRound>("b").gently);
  }
  void both_hold() {
    says("a", Holding{1, 811});
    says("b", Holding{1, 812});
  }
  void all_leave_at_once(const NodeId& node) {
    const auto order = ordered<StopRound>(node);
    CHECK(order.keep);
    CHECK_FALSE(order.gently);
    CHECK_THAT(order.reason, contains("not all workers could leave"));
  }
};

TEST_CASE_METHOD(StopAtStepFixture,
                 "all leave behind the step after the greatest that one has counted") {
  says("a", Holding{1, 811});
  CHECK_FALSE(order<LeaveAfter>("a").has_value());
  says("b", Holding{1, 812});
  CHECK(ordered<LeaveAfter>("a") == LeaveAfter{1, 813});
  CHECK(ordered<LeaveAfter>("b") == LeaveAfter{1, 813});
  for (const NodeId node : {"a", "b"}) says(node, WorkersStopped{1, {"0"}});
  CHECK_FALSE(order<StopRound>("b").has_value());
  CHECK(ordered<StartRound>("c").world_size == 3);
}

TEST_CASE_METHOD(StopAtStepFixture, "one node cannot hold: the others do not wait for its step") {
  says("a", Holding{1, 811});
  says("b", Holding{1, -1});
  all_leave_at_once("a");
  says("b", Holding{1, 812});  // too late
  CHECK_FALSE(order<LeaveAfter>("a").has_value());
}

TEST_CASE_METHOD(StopAtStepFixture, "a node is lost: the others leave at once") {
  SECTION("before all hold") { says("a", Holding{1, 811}); }
  SECTION("on the way to the last step") { both_hold(); }
  is_lost("b");
  all_leave_at_once("a");
}

TEST_CASE_METHOD(StopAtStepFixture,
                 "a node that knows no holding has left at once, and so do the others") {
  says("b", WorkersStopped{1, {"0"}});
  all_leave_at_once("a");
}

TEST_CASE_METHOD(StopAtStepFixture,
                 "a node is lost that has no workers in the round: no step is dropped") {
  says("a", Holding{1, 811});
  is_lost("c");
  CHECK_FALSE(order<StopRound>("a").has_value());
  says("b", Holding{1, 812});
  CHECK(ordered<LeaveAfter>("a") == LeaveAfter{1, 813});
}

TEST_CASE_METHOD(StopAtStepFixture, "a worker died on the way: the others leave at once") {
  both_hold();
  says("b", WorkersStopped{1});
  all_leave_at_once("a");
}

TEST_CASE_METHOD(StopAtStepFixture, "what a node says of an earlier round is passed over") {
  says("a", Holding{0, -1});
  says("a", Holding{1, 811});
  says("b", Holding{0, 4});
  CHECK_FALSE(order<StopRound>("a").has_value());
  CHECK_FALSE(order<LeaveAfter>("a").has_value());
}

TEST_CASE_METHOD(StopAtStepFixture, "a stop that is over breaks nothing in the rounds after it") {
  both_hold();
  for (const NodeId node : {"a", "b"}) says(node, WorkersStopped{1, {"0"}});
  for (const NodeId node : {"a", "b", "c"}) says(node, WorkersStay{2, true});
  says("b", failed(2, 1, {.signal = SIGKILL}));
  const auto order = ordered<StopRound>("a");
  CHECK(order.round == 2);
  CHECK_FALSE(order.gently);  // somebody is lost
}

}  // namespace
}  // namespace ddprun
