// A checkpoint that fails alike each time that it is loaded: FailedLoads, and JobCheckpoints with
// it.
#include "rendezvous/rounds/failed_loads.hpp"

#include <csignal>

#include "tests/rendezvous/rounds/checkpoints_fixture.hpp"

namespace ddprun {
namespace {

Cause raised(const std::string& what) {
  return {.kind = FailureKind::kException, .status = {.code = 1}, .fingerprint = what};
}

TEST_CASE("a checkpoint is blamed when it fails alike twice within a few steps of loading") {
  FailedLoads loads;
  const Cause nan = raised("loss is not finite");
  loads.failed(&nan, 3);
  CHECK_FALSE(loads.are_alike());
  SECTION("twice") {
    loads.failed(&nan, FailedLoads::kSoon);
    CHECK(loads.are_alike());
    loads.begin_round({.number = 3});
    CHECK_FALSE(loads.are_alike());
  }
  SECTION("but not when it came further in between") {
    loads.failed(&nan, FailedLoads::kSoon + 1);
    loads.failed(&nan, 3);
    CHECK_FALSE(loads.are_alike());
  }
  SECTION("or failed in another way") {
    const Cause other = raised("another one");
    loads.failed(&other, 3);
    CHECK_FALSE(loads.are_alike());
    loads.failed(&other, 3);
    CHECK(loads.are_alike());
  }
  SECTION("or for a reason that nobody knows") {
    loads.failed(nullptr, 3);
    loads.failed(&nan, 3);
    CHECK_FALSE(loads.are_alike());
  }
}

TEST_CASE("it has to fail three times where workers tell no steps") {
  FailedLoads loads;
  const Cause nan = raised("loss is not finite");
  for (int time = 0; time < 2; ++time) loads.failed(&nan, -1);
  CHECK_FALSE(loads.are_alike());
  loads.failed(&nan, -1);
  CHECK(loads.are_alike());
}

TEST_CASE("no checkpoint is blamed for what others do to workers") {
  FailedLoads loads;
  Cause cause = raised("alike");
  SECTION("a signal that somebody sends") {
    cause.kind = FailureKind::kSignal;
    cause.status = {.signal = SIGKILL};
  }
  SECTION("a lost node") { cause.kind = FailureKind::kNodeLost; }
  SECTION("a hang") { cause.kind = FailureKind::kHang; }
  SECTION("want of memory") { cause.kind = FailureKind::kOutOfMemory; }
  for (int time = 0; time < 3; ++time) loads.failed(&cause, 0);
  CHECK_FALSE(loads.are_alike());
}

class FailingFixture : public CheckpointsFixture {
 protected:
  FailingFixture() {
    port_ = 7000;
    room_ = 1000;
  }
  /// Two checkpoints count, and the newest is on disk.
  void has_two() {
    runs(2);
    all_write(1);
    all_write(2);
  }
  void reaches(int round, std::int64_t step) {
    for (const NodeId& node : nodes_)
      says(node, Progress{round, {{.rank = part_of(node), .step = step}}});
  }
  /// Rank 1 fails as always, and both nodes stop. They hold what `parts` says.
  StartRound fails_again(int round, const std::vector<int>& numbers) {
    fails("b", round, 1);
    passes(kCausePatience);
    for (const NodeId& node : nodes_) {
      std::vector<CheckpointPart> parts;
      for (const int number : numbers) parts.push_back({number, part_of(node), 2});
      holds(node, parts, 2);
      says(node, WorkersStopped{round});
    }
    const StartRound next = start("a");
    start("b");
    hear_all();
    return next;
  }
};

TEST_CASE_METHOD(FailingFixture, "the one before it is loaded, though a newer one is on disk") {
  has_two();
  for (int round = 1; round <= 3; ++round) {
    const StartRound next = fails_again(round, {1, 2});
    CHECK(next.checkpoint.number == 2);
    CHECK_FALSE(next.checkpoint.older);
  }
  const StartRound older = fails_again(4, {1, 2});
  CHECK(older.checkpoint.number == 1);
  CHECK(older.checkpoint.older);
  REQUIRE(older.checkpoint.sources.size() == 2);
  CHECK(older.checkpoint.sources[0].part.number == 1);

  SECTION("and again, whatever ends that round") {
    const StartRound again = fails_again(5, {1});
    CHECK(again.checkpoint.number == 1);
    CHECK_FALSE(again.checkpoint.older);
  }
  SECTION("until the next one counts") {
    all_keep(3);
    hear_all();
    CHECK(fails_again(5, {1, 3}).checkpoint.number == 3);
  }
}

TEST_CASE_METHOD(FailingFixture, "two loads are enough where the failure comes soon") {
  has_two();
  reaches(1, 500);
  CHECK(fails_again(1, {1, 2}).checkpoint.number == 2);
  reaches(2, 401);
  reaches(2, 403);
  CHECK(fails_again(2, {1, 2}).checkpoint.number == 2);
  SECTION("within a few steps") {
    reaches(3, 401);
    reaches(3, 403);
    CHECK(fails_again(3, {1, 2}).checkpoint.older);
  }
  SECTION("before the first step") { CHECK(fails_again(3, {1, 2}).checkpoint.older); }
  SECTION("but not where one was gone further") {
    reaches(3, 401);
    reaches(3, 470);
    CHECK_FALSE(fails_again(3, {1, 2}).checkpoint.older);
    CHECK_FALSE(fails_again(4, {1, 2}).checkpoint.older);
  }
}

TEST_CASE_METHOD(FailingFixture, "the newest is loaded again where no older one is whole") {
  has_two();
  for (int round = 1; round <= 5; ++round) {
    const StartRound next = fails_again(round, {2});
    CHECK(next.checkpoint.number == 2);
    CHECK_FALSE(next.checkpoint.older);
  }
}

TEST_CASE_METHOD(FailingFixture,
                 "a checkpoint that counts since the last load has not failed yet") {
  has_two();
  for (int round = 1; round <= 3; ++round) fails_again(round, {1, 2});
  all_keep(3);
  hear_all();
  CHECK(fails_again(4, {2, 3}).checkpoint.number == 3);
}

}  // namespace
}  // namespace ddprun
