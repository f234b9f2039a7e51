// Workers prepare while a round goes on without their node.
#include <csignal>

#include "tests/agent/decisions/two_workers.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

/// Both prepare.
class PrepareFixture : protected TwoWorkers {
 protected:
  PrepareFixture() {
    step(Connected{});
    prepares();
    REQUIRE(took<StartWorkers>()->parked);
  }
  void prepares() { step(Ordered{Prepare{{.round = 1}, {.round = 2}}}); }
};

TEST_CASE_METHOD(PrepareFixture, "it tells when its workers are parked, and they enter a round") {
  prepares();
  CHECK_FALSE(took<StartWorkers>().has_value());
  step(says(0, Parked{kNoRound}));
  CHECK_FALSE(said<Prepared>().has_value());
  step(says(1, Parked{kNoRound}));
  CHECK(said<Prepared>().has_value());
  prepares();  // after its connection has ended
  CHECK(said<Prepared>().has_value());
  starts(5);
  CHECK_FALSE(took<StartWorkers>()->parked);
  CHECK(said<WorkersStay>() == WorkersStay{5, true});
}

TEST_CASE_METHOD(PrepareFixture, "a round that begins meanwhile takes them in as they come") {
  step(says(0, Parked{kNoRound}));
  starts(2);
  CHECK(took<StartWorkers>()->round.round == 2);
  CHECK_FALSE(said<WorkersStay>().has_value());
  step(says(1, Parked{kNoRound}));
  CHECK(said<WorkersStay>() == WorkersStay{2, true});
  CHECK_FALSE(said<Prepared>().has_value());
}

TEST_CASE_METHOD(PrepareFixture, "one ends before it is parked: the node joins without it") {
  ends(1, {.code = 3});
  CHECK(took<Warn>()->text == "rank 1 exited with code 3 before it could enter a round");
  CHECK(took<KillWorkers>()->local_ranks == std::vector{1});  // its children
  CHECK_FALSE(said<WorkerFailed>().has_value());
  CHECK_FALSE(said<Prepared>().has_value());
  step(says(0, Parked{kNoRound}));
  CHECK(said<Prepared>().has_value());
  starts(2);
  step(says(1, CanStay{2}));  // the one that was started in its place
  CHECK(said<WorkersStay>() == WorkersStay{2, true});
}

TEST_CASE_METHOD(PrepareFixture, "all end before they are parked: the node joins like any other") {
  ends(0, {.code = 0});
  ends(1, {.code = 0});
  CHECK(said<Prepared>().has_value());
  CHECK_FALSE(said<WorkersFinished>().has_value());
  starts(2);
  CHECK(took<StartWorkers>()->round.round == 2);
}

TEST_CASE("a node that does not hear its workers joins at once") {
  struct Deaf : MachineFixture {
    Deaf() : MachineFixture{{.workers = 2, .hears_workers = false, .endpoint = "h0:1"}} {}
    void prepares() {
      step(Connected{});
      step(Ordered{Prepare{{.round = 1}, {.round = 2}}});
      CHECK(said<Prepared>().has_value());
      CHECK_FALSE(took<StartWorkers>().has_value());
    }
  };
  Deaf{}.prepares();
}

TEST_CASE_METHOD(PrepareFixture, "they are stopped with the agent") {
  step(StopSignal{SIGTERM});
  CHECK(took<SignalWorkers>().has_value());
  ends(0, {.signal = SIGTERM});
  ends(1, {.signal = SIGTERM});
  CHECK_FALSE(took<SweepTree>()->in_place);
  step(TreeGone{});
  CHECK(took<Exit>().has_value());
}

}  // namespace
}  // namespace ddprun
