// Seats that are vacant in a round: workers prepare for them, and nobody waits for these.
#include <csignal>

#include "tests/agent/decisions/two_workers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// Worker 1 was killed in round 1, and round 2 goes on with worker 0 alone.
class VacantFixture : protected TwoWorkers {
 protected:
  VacantFixture() {
    step(Connected{});
    starts(1);
    for (const int local_rank : {0, 1}) step(says(local_rank, CanStay{1}));
    ends(1, {.signal = SIGKILL});
    told_to_leave();
    step(says(0, Parked{1}));
    step(TreeGone{});
    REQUIRE(said<WorkerFailed>().has_value());
    REQUIRE(said<WorkersStopped>() == WorkersStopped{1, {"0"}});
    starts_without_one(2);
    REQUIRE(took<StartWorkers>()->round.vacant == "1");
  }
  void starts_without_one(int round) { step(Ordered{StartRound{.round = round, .vacant = "1"}}); }
  /// Worker 0 leaves round 2 on request, and waits for the next one.
  void changes_again() {
    told_to_leave_again();
    step(says(0, Parked{2}));
    step(TreeGone{});
  }
  void told_to_leave_again() {
    step(Ordered{StopRound{.round = 2, .reason = "why", .keep = true}});
  }
};

TEST_CASE_METHOD(VacantFixture, "the node says when the other worker can come in, and it does") {
  CHECK(said<WorkersStay>() == WorkersStay{2, true});
  CHECK_FALSE(said<Prepared>().has_value());
  step(says(1, Parked{kNoRound}));
  CHECK(said<Prepared>().has_value());
  told_to_leave_again();
  step(says(0, Parked{2}));
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{2, {"0-1"}});
  starts(3);
  CHECK(said<WorkersStay>() == WorkersStay{3, true});
}

TEST_CASE_METHOD(VacantFixture, "one that prepares and ends is no failure of the round") {
  ends(1, {.code = 1});
  CHECK_FALSE(said<WorkerFailed>().has_value());
  CHECK(said<Prepared>().has_value());
  changes_again();
  CHECK(said<WorkersStopped>() == WorkersStopped{2, {"0"}});
  CHECK_FALSE(said<WorkersEnded>().has_value());
}

TEST_CASE_METHOD(VacantFixture, "the round is finished without the worker that prepares") {
  ends(0, {});
  CHECK(said<WorkersFinished>() == WorkersFinished{2});
  step(Ordered{EndJob{}});
  CHECK(took<SignalWorkers>().has_value());
  ends(1, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->in_place);
}

TEST_CASE_METHOD(VacantFixture, "nobody waits for it when the round changes, and it starts on") {
  ends(0, {.signal = SIGKILL});
  CHECK(said<WorkerFailed>()->left == 0);
  told_to_leave_again();  // nobody is there who could: all are stopped
  CHECK(took<SignalWorkers>().has_value());
  ends(1, {.signal = SIGTERM});
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{2});
}

TEST_CASE_METHOD(VacantFixture, "the last of the round is lost while it leaves it") {
  told_to_leave_again();
  ends(0, {.signal = SIGKILL});
  CHECK(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(said<WorkersStopped>() == WorkersStopped{2});
  step(Ordered{Prepare{{.round = 3}, {.round = 4}}});
  CHECK(took<StartWorkers>()->parked);
  CHECK_FALSE(said<Prepared>().has_value());
  for (const int local_rank : {0, 1}) step(says(local_rank, Parked{kNoRound}));
  CHECK(said<Prepared>().has_value());
}

TEST_CASE_METHOD(VacantFixture, "a seat that stays vacant gets no second worker") {
  changes_again();
  starts_without_one(3);
  CHECK_FALSE(said<Prepared>().has_value());
  step(says(1, Parked{kNoRound}));
  CHECK(said<Prepared>().has_value());
}

TEST_CASE_METHOD(VacantFixture, "a round that takes it in waits for it") {
  changes_again();
  starts(3);
  CHECK(said<WorkersStay>() == WorkersStay{2, true});
  step(says(1, Parked{kNoRound}));
  CHECK_FALSE(said<Prepared>().has_value());
  CHECK(said<WorkersStay>() == WorkersStay{3, true});
}

TEST_CASE_METHOD(VacantFixture, "it is killed before others write the last checkpoint") {
  step(Ordered{StopRound{.round = 2, .reason = "the end", .checkpoint_ms = 1'000}});
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});
  CHECK(took<AskForCheckpoint>().has_value());
}

}  // namespace
}  // namespace ddprun
