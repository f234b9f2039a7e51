// Members change and nobody is lost: workers hold first, and leave behind the same step.
#include <csignal>

#include "tests/agent/decisions/two_workers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two workers that can stay are asked to hold in round 1.
class HoldFixture : protected TwoWorkers {
 protected:
  HoldFixture() {
    step(Connected{});
    starts(1);
    for (const int local_rank : {0, 1}) step(says(local_rank, CanStay{1}));
    told_gently();
  }
  void told_gently() {
    step(Ordered{StopRound{.round = 1, .reason = "why", .keep = true, .gently = true}});
  }
  void both_hold() {
    step(says(0, Holding{1, 811}));
    step(says(1, Holding{1, 812}));
  }
  void told_limit() { step(Ordered{LeaveAfter{1, 813}}); }
  void leave_in_vain_told() {
    CHECK(said<Holding>() == Holding{1, -1});
    CHECK(took<AskToLeave>()->round == 1);
  }
};

TEST_CASE_METHOD(HoldFixture, "all hold, go on to the step that is ordered, and leave there") {
  CHECK(took<AskToHold>()->round == 1);
  CHECK_FALSE(took<AskToLeave>().has_value());
  step(says(0, Holding{1, 811}));
  CHECK_FALSE(said<Holding>().has_value());
  step(says(1, Holding{1, 812}));
  CHECK(said<Holding>() == Holding{1, 812});
  told_limit();
  CHECK(took<AskToLeaveAfter>()->order == LeaveAfter{1, 813});
  for (const int local_rank : {0, 1}) step(says(local_rank, Parked{1}));
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, {"0-1"}});
}

TEST_CASE_METHOD(HoldFixture, "one does not answer in time: all leave at once") {
  step(says(0, Holding{1, 811}));
  passes(kTimeToHold - 1ms);
  CHECK_FALSE(took<AskToLeave>().has_value());
  passes(1ms);
  leave_in_vain_told();
}

TEST_CASE_METHOD(HoldFixture, "one cannot hold, or has left before: all leave at once") {
  SECTION("cannot") { step(says(0, Holding{1, -1})); }
  SECTION("has left") { step(says(0, Parked{1})); }
  SECTION("leaves its loop") {
    step(says(0, CannotStay{}));
    CHECK(said<Holding>() == Holding{1, -1});
    CHECK(took<SignalWorkers>().has_value());
    return;
  }
  leave_in_vain_told();
}

TEST_CASE_METHOD(HoldFixture, "the word of an earlier round is none of this one") {
  step(says(0, Holding{0, -1}));
  CHECK_FALSE(took<AskToLeave>().has_value());
  step(says(1, Holding{0, 5}));
  step(says(0, Holding{1, 811}));
  CHECK_FALSE(said<Holding>().has_value());
}

TEST_CASE_METHOD(HoldFixture, "one dies meanwhile: the other leaves at once, and is parked") {
  both_hold();
  SECTION("before they know the step") {}
  SECTION("on the way to it") { told_limit(); }
  said<Holding>();
  ends(1, {.signal = SIGKILL});
  leave_in_vain_told();
  step(says(0, Parked{1}));
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, {"0"}});
}

TEST_CASE_METHOD(HoldFixture, "one does not reach the step in the grace: it has another one") {
  both_hold();
  said<Holding>();
  told_limit();
  step(says(0, Parked{1}));
  passes(30s);
  leave_in_vain_told();
  CHECK_FALSE(took<KillWorkers>().has_value());
  passes(30s);
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
}

TEST_CASE_METHOD(HoldFixture, "the coordinator has lost somebody: all leave at once") {
  both_hold();
  told_to_leave();
  CHECK(took<AskToLeave>()->round == 1);
  told_limit();  // which was on its way
  CHECK_FALSE(took<AskToLeaveAfter>().has_value());
}

TEST_CASE_METHOD(HoldFixture, "the coordinator itself is lost: nobody waits for its word") {
  both_hold();
  step(CoordinatorLost{"closed"});
  CHECK(took<AskToLeave>()->round == 1);
}

TEST_CASE_METHOD(HoldFixture, "who is to stop while all hold is stopped") {
  step(StopSignal{SIGTERM});
  CHECK(took<SignalWorkers>().has_value());
}

TEST_CASE_METHOD(TwoWorkers, "where one has left already nobody is asked to hold") {
  step(Connected{});
  starts(1);
  for (const int local_rank : {0, 1}) step(says(local_rank, CanStay{1}));
  step(says(0, Parked{1}));
  step(Ordered{StopRound{.round = 1, .reason = "why", .keep = true, .gently = true}});
  CHECK_FALSE(took<AskToHold>().has_value());
  CHECK(took<AskToLeave>()->round == 1);
}

}  // namespace
}  // namespace ddprun
