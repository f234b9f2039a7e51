// Workers that stay while members of the job change: which can, and what the agent does with them.
#include "agent/decisions/staying_workers.hpp"

#include <csignal>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

WorkerSaid says(int local_rank, std::variant<CanStay, Parked, CannotStay> what) {
  return {local_rank, what};
}

TEST_CASE("workers can stay when all of them have said so for this round") {
  StayingWorkers workers{2};
  CHECK_FALSE(workers.living_can_stay());
  workers.begin_round(3);
  workers.said(says(0, CanStay{3}));
  CHECK_FALSE(workers.all_can_stay());
  workers.said(says(1, CanStay{2}));
  CHECK_FALSE(workers.all_can_stay());
  workers.said(says(1, CanStay{3}));
  CHECK(workers.all_can_stay());
  workers.said(says(1, CannotStay{}));
  CHECK_FALSE(workers.living_can_stay());
}

TEST_CASE("who has ended is not waited for, and is another one in the next round") {
  StayingWorkers workers{3};
  workers.begin_round(1);
  for (int i = 0; i < 3; ++i) workers.said(says(i, CanStay{1}));
  workers.said(says(0, Parked{1}));
  workers.ended(1);
  CHECK_FALSE(workers.all_can_stay());
  CHECK(workers.living_can_stay());
  CHECK_FALSE(workers.living_are_parked());
  CHECK(workers.in_round() == std::vector{2});
  workers.said(says(2, Parked{1}));
  CHECK(workers.living_are_parked());
  workers.said(says(1, Parked{1}));  // its last word, read after its end
  workers.begin_round(2);
  CHECK_FALSE(workers.all_can_stay());
  workers.said(says(1, CanStay{2}));
  CHECK(workers.all_can_stay());
  workers.said(says(0, Parked{1}));
  CHECK(workers.in_round() == std::vector{0, 1, 2});
}

TEST_CASE("words of workers that are not there are passed over") {
  StayingWorkers workers{1};
  workers.begin_round(1);
  workers.said(says(-1, CanStay{1}));
  workers.said(says(1, CanStay{1}));
  workers.ended(7);
  CHECK_FALSE(workers.living_can_stay());
}

/// Two workers in round 1, which both can stay.
class KeepFixture : protected MachineFixture {
 protected:
  KeepFixture()
      : MachineFixture{
            {.workers = 2, .shutdown_timeout = 30s, .heartbeat_timeout = 24h, .rejoin = true}} {
    step(Connected{});
    starts(1);
    for (int local_rank : {0, 1}) step(says(local_rank, CanStay{1}));
  }
  void starts(int round) { step(Ordered{StartRound{.round = round}}); }
  void ends(int local_rank, ExitStatus status) {
    step(WorkerExited{
        WorkerFailure{.rank = local_rank, .local_rank = local_rank, .status = status}});
  }
  void told_to_leave() { step(Ordered{StopRound{.round = 1, .reason = "why", .keep = true}}); }
  /// The other worker has failed, and this one has left the round.
  void zero_is_parked() {
    ends(1, {.signal = SIGKILL});
    told_to_leave();
    step(says(0, Parked{1}));
    step(TreeGone{});
  }
};

TEST_CASE_METHOD(KeepFixture, "the coordinator is told when all workers can stay, and when not") {
  CHECK(said<WorkersStay>() == WorkersStay{1, true});
  step(says(1, CannotStay{}));
  CHECK(said<WorkersStay>() == WorkersStay{1, false});
  step(says(0, CannotStay{}));
  CHECK_FALSE(said<WorkersStay>().has_value());
}

TEST_CASE_METHOD(KeepFixture, "one fails: the other leaves the round, and is in the next one") {
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
  CHECK(took<SweepTree>()->keep);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, 1});
  starts(2);
  CHECK(took<StartWorkers>()->round.round == 2);
  CHECK_FALSE(said<WorkersStay>().has_value());  // the new one has not said so
  step(says(1, CanStay{2}));
  CHECK(said<WorkersStay>() == WorkersStay{2, true});
}

TEST_CASE_METHOD(KeepFixture, "who has lost a peer may have left before it is asked to") {
  step(says(0, Parked{1}));
  step(says(1, Parked{1}));
  CHECK_FALSE(took<SweepTree>().has_value());
  told_to_leave();
  CHECK(took<SweepTree>()->keep);
}

TEST_CASE_METHOD(KeepFixture, "who does not leave within the grace is killed, and no other") {
  told_to_leave();
  step(says(0, Parked{1}));
  passes(29s);
  CHECK_FALSE(took<KillWorkers>().has_value());
  passes(1s);
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  ends(1, {.signal = SIGKILL});
  CHECK(took<SweepTree>()->keep);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, 1});
}

TEST_CASE_METHOD(KeepFixture, "where one cannot stay any more, all are stopped") {
  step(says(1, CannotStay{}));
  told_to_leave();
  CHECK_FALSE(took<AskToLeave>().has_value());
  CHECK(took<SignalWorkers>().has_value());
  step(says(0, Parked{1}));
  ends(1, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->keep);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{1, 0});
}

TEST_CASE_METHOD(KeepFixture, "parked workers end with the job") {
  zero_is_parked();
  took<SweepTree>();
  step(Ordered{EndJob{EndJob::Outcome::kTooFewNodes}});
  CHECK(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<Exit>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->keep);
  step(TreeGone{});
  CHECK(took<Exit>().has_value());
}

TEST_CASE_METHOD(KeepFixture, "parked workers end where the coordinator is lost") {
  zero_is_parked();
  took<SignalWorkers>();
  step(CoordinatorLost{"closed"});
  CHECK(took<SignalWorkers>().has_value());
  ends(0, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->keep);
}

TEST_CASE_METHOD(KeepFixture,
                 "what is lost while the node is cleaned up ends parked workers, too") {
  ends(1, {.signal = SIGKILL});
  told_to_leave();
  step(says(0, Parked{1}));
  step(CoordinatorLost{"closed"});
  took<SignalWorkers>();
  step(TreeGone{});
  CHECK(took<SignalWorkers>().has_value());
  CHECK_FALSE(took<ReachCoordinator>().has_value());
  ends(0, {.signal = SIGTERM});
  step(TreeGone{});
  CHECK(took<ReachCoordinator>().has_value());
}

TEST_CASE_METHOD(KeepFixture, "the user's signal ends workers that are asked to leave") {
  told_to_leave();
  step(StopSignal{SIGINT});
  CHECK(took<SignalWorkers>().has_value());
  for (int local_rank : {0, 1}) ends(local_rank, {.signal = SIGINT});
  CHECK_FALSE(took<SweepTree>()->keep);
}

TEST_CASE_METHOD(KeepFixture,
                 "all of them are started where the last one that was parked has died") {
  zero_is_parked();
  ends(0, {.code = 1});
  took<StartWorkers>();
  starts(2);
  CHECK(took<StartWorkers>().has_value());
}

}  // namespace
}  // namespace ddprun
