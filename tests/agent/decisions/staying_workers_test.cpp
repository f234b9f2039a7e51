// What the agent does with workers that stay while members of the job change.
#include <csignal>

#include "rendezvous/messages/job_terms.hpp"
#include "tests/agent/decisions/two_workers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// They are in round 1, and both can stay.
class StayFixture : protected TwoWorkers {
 protected:
  StayFixture() {
    step(Connected{});
    starts(1);
    for (int local_rank : {0, 1}) step(says(local_rank, CanStay{1}));
  }
  /// The other worker has failed, and this one has left the round.
  void zero_is_parked() {
    ends(1, {.signal = SIGKILL});
    told_to_leave();
    step(says(0, Parked{1}));
    step(TreeGone{});
  }
};

TEST_CASE_METHOD(StayFixture, "the coordinator learns when all workers can stay, and when not") {
  CHECK(said<WorkersStay>() == WorkersStay{1, true});
  step(says(1, CannotStay{}));
  CHECK(said<WorkersStay>() == WorkersStay{1, false});
  step(says(0, CannotStay{}));
  CHECK_FALSE(said<WorkersStay>().has_value());
}

TEST_CASE_METHOD(StayFixture, "one leaves its loop and fails: the others can stay") {
  step(says(1, CannotStay{}));
  CHECK(said<WorkersStay>() == WorkersStay{1, false});
  ends(1, {.code = 1});
  CHECK(said<WorkersStay>() == WorkersStay{1, true});
  CHECK(said<WorkerFailed>().has_value());
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
}

TEST_CASE_METHOD(StayFixture, "one fails while another one has left its loop: all are stopped") {
  for (const int local_rank : {0, 1}) step(says(local_rank, CannotStay{}));
  CHECK(said<WorkersStay>() == WorkersStay{1, false});
  ends(1, {.code = 1});
  CHECK_FALSE(said<WorkersStay>().has_value());
}

TEST_CASE_METHOD(StayFixture, "one hangs: it is killed at once, and the other leaves the round") {
  step(Ordered{StopRound{.round = 1, .reason = "why", .keep = true, .evict = "1,7"}});
  CHECK(took<AskToLeave>()->round == 1);
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  step(says(0, Parked{1}));
  CHECK_FALSE(took<SweepTree>().has_value());
  ends(1, {.signal = SIGKILL});
  CHECK(took<SweepTree>()->in_place);
}

TEST_CASE_METHOD(StayFixture, "who leaves the round tells the step that it has counted before") {
  told_to_leave();
  step(WorkerSaid{0, Parked{1}, 6});
  step(WorkerSaid{1, Parked{1}, 7});
  step(TreeGone{});
  const auto ended = said<WorkersEnded>();
  REQUIRE(ended);
  CHECK(*ended == WorkersEnded{1, 7, {}});
  CHECK(said<WorkersStopped>());
}

TEST_CASE_METHOD(StayFixture, "one is stuck in the round that it is to leave: it is killed") {
  step(says(1, Stuck{1}));  // nobody has asked it to leave
  CHECK_FALSE(took<KillWorkers>().has_value());
  told_to_leave();
  step(says(1, Stuck{0}));
  CHECK_FALSE(took<KillWorkers>().has_value());
  step(says(1, Stuck{1}));
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  CHECK(took<Warn>()->text ==
        "1 worker stays in a collective that cannot end: SIGKILL, and a new one takes its place");
  step(says(0, Parked{1}));
  ends(1, {.signal = SIGKILL});
  CHECK(took<SweepTree>()->in_place);
  CHECK_FALSE(said<WorkerFailed>().has_value());
}

TEST_CASE_METHOD(StayFixture, "one fails: the other leaves the round, and is in the next one") {
  took<StartWorkers>();
  ends(1, {.signal = SIGKILL});
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});  // its children
  CHECK(said<WorkerFailed>().has_value());
  CHECK(said<WorkersStay>() == WorkersStay{1, true});
  told_to_leave();
  CHECK(took<AskToLeave>()->round == 1);
  CHECK_FALSE(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<SweepTree>().has_value());
  step(says(0, Parked{1}));
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, {"0"}});
  starts(2);
  CHECK(took<StartWorkers>()->round.round == 2);
  CHECK_FALSE(said<WorkersStay>().has_value());  // the new one has not said so
  step(says(1, CanStay{2}));
  CHECK(said<WorkersStay>() == WorkersStay{2, true});
}

TEST_CASE_METHOD(StayFixture, "who has lost a peer may have left before it is asked to") {
  step(says(0, Parked{1}));
  step(says(1, Parked{1}));
  CHECK_FALSE(took<SweepTree>().has_value());
  told_to_leave();
  CHECK(took<SweepTree>()->in_place);
}

TEST_CASE_METHOD(StayFixture, "who does not leave within the grace is killed, and no other") {
  told_to_leave();
  step(says(0, Parked{1}));
  passes(29s);
  CHECK_FALSE(took<KillWorkers>().has_value());
  passes(1s);
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  ends(1, {.signal = SIGKILL});
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, {"0"}});
}

TEST_CASE_METHOD(StayFixture,
                 "who cannot even be killed is waited for once, and nobody stays then") {
  told_to_leave();
  step(says(0, Parked{1}));
  passes(30s);
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  passes(kKillTimeout);
  CHECK_FALSE(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<SweepTree>()->in_place);
}

TEST_CASE_METHOD(StayFixture,
                 "a signal to stop gives no more time to workers that are to leave already") {
  told_to_leave();
  passes(20s);
  step(StopSignal{SIGTERM});
  CHECK(took<SignalWorkers>().has_value());
  actions_.clear();
  passes(9s);
  CHECK_FALSE(took<SignalWorkers>().has_value());
  passes(1s);
  CHECK(took<SignalWorkers>()->signal == SIGKILL);
}

TEST_CASE_METHOD(StayFixture, "where one cannot stay any more, all are stopped") {
  step(says(1, CannotStay{}));
  told_to_leave();
  CHECK_FALSE(took<AskToLeave>().has_value());
  CHECK(took<SignalWorkers>().has_value());
  step(says(0, Parked{1}));
  ends(1, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1});
}

TEST_CASE_METHOD(StayFixture, "parked workers end with the job") {
  zero_is_parked();
  took<SweepTree>();
  step(Ordered{EndJob{EndJob::Outcome::kTooFewNodes}});
  CHECK(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<Exit>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(took<Exit>().has_value());
}

TEST_CASE_METHOD(StayFixture, "parked workers stay where the coordinator is lost") {
  zero_is_parked();
  took<SignalWorkers>();
  step(CoordinatorLost{"closed"});
  CHECK(took<ReachCoordinator>().has_value());
  step(Connected{});
  starts(2);
  CHECK(took<StartWorkers>()->round.round == 2);
  CHECK_FALSE(took<SignalWorkers>().has_value());
}

TEST_CASE_METHOD(
    StayFixture,
    "who leaves a round while the coordinator is lost has left it before the node joins") {
  ends(1, {.signal = SIGKILL});
  told_to_leave();
  took<ReachCoordinator>();
  step(CoordinatorLost{"closed"});
  step(says(0, Parked{1}));
  CHECK_FALSE(took<ReachCoordinator>().has_value());
  step(TreeGone{});
  CHECK(took<ReachCoordinator>()->voter.running == 0);
  CHECK_FALSE(took<SignalWorkers>().has_value());
}

TEST_CASE_METHOD(StayFixture, "the next coordinator learns which workers are parked") {
  step(Ordered{Beat{.keep = true}});
  step(CoordinatorLost{"closed"});
  step(says(0, Parked{1}));
  ends(1, {.signal = SIGKILL});
  took<ReachCoordinator>();
  step(TreeGone{});
  CHECK(took<ReachCoordinator>()->parked == ParkedWorkers{"0"});
}

TEST_CASE_METHOD(StayFixture, "parked workers end where the next round has no use for them") {
  zero_is_parked();
  took<SignalWorkers>();
  step(Ordered{StopRound{.round = 7, .reason = "why", .discard = true}});
  CHECK(took<SignalWorkers>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1});
}

TEST_CASE_METHOD(StayFixture, "the earlier end of all of them is reported as well") {
  zero_is_parked();
  ends(0, {.signal = SIGKILL});
  step(Ordered{StopRound{.round = 1, .reason = "why", .discard = true}});
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1});
}

TEST_CASE_METHOD(StayFixture, "who runs a round is not discarded") {
  took<SignalWorkers>();
  step(Ordered{StopRound{.round = 1, .reason = "why", .discard = true}});
  CHECK_FALSE(took<SignalWorkers>().has_value());
}

TEST_CASE_METHOD(StayFixture,
                 "where the coordinator is lost, workers leave if it has let them stay") {
  step(Ordered{Beat{.keep = true}});
  step(CoordinatorLost{"closed"});
  CHECK(took<AskToLeave>()->round == 1);
  CHECK_FALSE(took<SignalWorkers>().has_value());
  for (int local_rank : {0, 1}) step(says(local_rank, Parked{1}));
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  step(Connected{});
  starts(2);
  CHECK(took<StartWorkers>().has_value());
  took<Warn>();
  step(CoordinatorLost{"closed"});  // which has not said it of this round
  CHECK(took<SignalWorkers>().has_value());
  CHECK(took<Warn>()->text.starts_with("lost the coordinator (closed): stopping"));
}

TEST_CASE_METHOD(StayFixture,
                 "where the coordinator is lost, workers are stopped if one cannot stay") {
  step(Ordered{Beat{.keep = true}});
  step(says(1, CannotStay{}));
  step(CoordinatorLost{"closed"});
  CHECK_FALSE(took<AskToLeave>().has_value());
  CHECK(took<SignalWorkers>().has_value());
}

TEST_CASE_METHOD(StayFixture, "parked workers end when nobody coordinates the job any more") {
  zero_is_parked();
  took<SignalWorkers>();
  step(CoordinatorLost{"closed"});
  step(CoordinatorUnreachable{"no process listens"});
  CHECK(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<Exit>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(took<Exit>()->end.why == AgentEnd::Why::kCoordinatorLost);
}

/// They can stay, in round 1 of three nodes; the lease is 4 s, and the heartbeat timeout 5 s.
class LeaseFixture : protected TwoWorkers {
 protected:
  LeaseFixture() {
    now_ += 1h;
    step(Connected{now_});
    step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 1, .epoch = 1}});
    step(Ordered{StartRound{.round = 1, .group_world_size = 3, .epoch = 1, .lease_ms = 4'000}});
    for (int local_rank : {0, 1}) step(says(local_rank, CanStay{1}));
    step(Ordered{Beat{.echo_us = microseconds(now_), .lease_ms = 4'000, .keep = true}});
  }
};

TEST_CASE_METHOD(LeaseFixture,
                 "the end of the lease kills who has not left the round, and no other") {
  step(CoordinatorLost{"closed"});
  CHECK_FALSE(took<AskToLeave>().has_value());  // the node comes back meanwhile
  step(CoordinatorUnreachable{"no answer"});
  CHECK(took<AskToLeave>().has_value());
  step(says(0, Parked{1}));
  passes(4s);
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  ends(1, {.signal = SIGKILL});
  CHECK(took<SweepTree>()->in_place);
  CHECK_FALSE(took<SignalWorkers>().has_value());
  step(TreeGone{});
  CHECK(took<ReachCoordinator>().has_value());
}

TEST_CASE_METHOD(LeaseFixture, "a node that slept past its lease kills its workers at once") {
  step(CoordinatorLost{"closed"});
  now_ += 10s;
  step(CoordinatorUnreachable{"no answer"});
  CHECK(took<KillWorkers>()->local_ranks == std::vector{0, 1});
}

TEST_CASE_METHOD(LeaseFixture, "parked workers stay while the node asks one after the other") {
  step(CoordinatorLost{"closed"});
  step(CoordinatorUnreachable{"no process listens", true});
  for (int local_rank : {0, 1}) step(says(local_rank, Parked{1}));
  step(TreeGone{});
  step(Connected{now_, "h1:1"});
  step(Ordered{Candidate{}});
  passes(10s);  // it leads nothing
  step(Connected{now_, "h2:1"});
  step(Ordered{Redirect{.coordinator = "h1:1", .epoch = 2}});
  step(Connected{now_, "h1:1"});
  step(Ordered{Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 1, .epoch = 2}});
  step(Ordered{StartRound{.round = 2, .group_world_size = 2, .epoch = 2, .lease_ms = 4'000}});
  CHECK(took<StartWorkers>()->round.round == 2);
  CHECK_FALSE(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<KillWorkers>().has_value());
}

TEST_CASE_METHOD(StayFixture, "the user's signal ends workers that are asked to leave") {
  told_to_leave();
  step(StopSignal{SIGINT});
  CHECK(took<SignalWorkers>().has_value());
  for (int local_rank : {0, 1}) ends(local_rank, {.signal = SIGINT});
  CHECK_FALSE(took<SweepTree>()->in_place);
}

TEST_CASE_METHOD(StayFixture,
                 "all of them are started where the last one that was parked has died") {
  zero_is_parked();
  ends(0, {.code = 1});
  took<StartWorkers>();
  starts(2);
  CHECK(took<StartWorkers>().has_value());
}

}  // namespace
}  // namespace ddprun
