#include "rendezvous/watch/hang_watch.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Kind = HangReport::Kind;

/// A round of which ranks tell how far they are, on a clock that moves when the test says so.
struct WatchFixture {
  explicit WatchFixture(int world_size = 3) { table.begin_round(world_size, now); }

  void tell(RankProgress progress) {
    progress.watched = true;
    table.take(progress, now);
  }
  /// A rank has entered `enqueued` collectives of a group, and `completed` are done.
  void at(int rank, std::int64_t enqueued, std::int64_t completed, const std::string& group = "0") {
    tell({.rank = rank, .groups = {{group, enqueued, completed}}});
  }
  void all_at(std::int64_t enqueued, std::int64_t completed) {
    for (int rank = 0; rank < table.world_size(); ++rank) at(rank, enqueued, completed);
  }
  std::optional<Suspicion> after(std::chrono::milliseconds time) {
    now += time;
    return suspect(table, patience, now);
  }

  ProgressTable table;
  TimePoint now{};
  HangPatience patience{5s, false};
};

TEST_CASE_METHOD(WatchFixture, "who has not entered a collective that others wait in is missing") {
  at(0, 12, 11);
  at(1, 11, 11);
  at(2, 12, 11);
  CHECK_FALSE(after(4999ms));
  const auto hang = after(1ms);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kMissing);
  CHECK(hang->group == "0");
  CHECK(hang->sequence == 12);
  CHECK(hang->missing == std::vector{1});
  CHECK(hang->waiting == std::vector{0, 2});
  CHECK(hang->silent == 5s);
}

TEST_CASE_METHOD(WatchFixture, "in a group that has done nothing yet, the first one is missed") {
  at(0, 1, -1);
  at(1, -1, -1);
  at(2, 1, -1);
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->sequence == 1);
  CHECK(hang->missing == std::vector{1});
}

TEST_CASE_METHOD(WatchFixture, "as long as collectives are done nobody hangs") {
  for (int step = 1; step < 20; ++step) {
    all_at(step + 1, step);
    CHECK_FALSE(after(4s));
  }
}

TEST_CASE_METHOD(WatchFixture,
                 "who starts alone, while the others have stayed, may compute for long") {
  const auto begin = [&](bool stayed) {
    for (const int rank : {0, 2})
      tell({.rank = rank, .stayed = stayed, .waits_in = "init_process_group", .idle = true});
    tell({.rank = 1, .busy = true});
  };
  begin(true);
  CHECK_FALSE(after(119s));
  const auto hang = after(1s);
  REQUIRE(hang);
  CHECK(hang->missing == std::vector{1});
  table.begin_round(3, now);
  begin(false);
  CHECK(after(5s));
}

TEST_CASE_METHOD(WatchFixture, "a rank that goes on elsewhere is slow, and hangs not") {
  at(0, 12, 11);
  at(2, 12, 11);
  for (int step = 0; step < 5; ++step) {
    tell({.rank = 1, .groups = {{"0", 11, 11}}, .step = step});
    CHECK_FALSE(after(4s));
  }
  REQUIRE(after(5s));
}

TEST_CASE_METHOD(WatchFixture, "a rank that nothing was heard of is missing in the group of all") {
  at(0, 1, 0);
  at(2, 1, 0);
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->missing == std::vector{1});
}

TEST_CASE_METHOD(WatchFixture, "who never was in another group is not missed in it") {
  at(0, 2, 1, "3");
  at(1, 1, 1, "3");
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->group == "3");
  CHECK(hang->missing == std::vector{1});
}

TEST_CASE_METHOD(WatchFixture, "when all wait in the same collective it is a deadlock") {
  all_at(5, 4);
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kDeadlock);
  CHECK(hang->missing.empty());
  CHECK(hang->waiting == std::vector{0, 1, 2});
}

TEST_CASE_METHOD(WatchFixture, "who waits for the other way round waits, and is not to blame") {
  tell({.rank = 0, .groups = {{"1", 3, 2}, {"2", 2, 2}}});
  tell({.rank = 1, .groups = {{"1", 2, 2}, {"2", 3, 2}}});
  tell({.rank = 2, .groups = {{"1", 2, 2}, {"2", 3, 2}}});
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kDeadlock);
  CHECK(hang->waiting == std::vector{0, 1, 2});
  REQUIRE(hang->waits.size() == 2);
  CHECK(hang->waits[0].group == "2");
  CHECK(hang->waits[0].waiting == std::vector{1, 2});
  CHECK(hang->waits[0].awaited == std::vector{0});
  CHECK(hang->waits[1].waiting == std::vector{0});
  CHECK(hang->waits[1].awaited == std::vector{1, 2});
}

TEST_CASE_METHOD(WatchFixture, "who waits for one that came later is not missing by itself") {
  tell({.rank = 1, .groups = {{"0", 1, 1}, {"1", 2, 1}}});
  tell({.rank = 2, .groups = {{"0", 2, 1}, {"1", 1, 1}}});
  CHECK_FALSE(after(1s));
  tell({.rank = 0, .groups = {{"0", 2, 1}}});
  CHECK_FALSE(after(4s));
  const auto hang = after(1s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kDeadlock);
  REQUIRE(hang->waits.size() == 2);
  CHECK(hang->waits[0].awaited == std::vector{1});
  CHECK(hang->waits[1].awaited == std::vector{2});
}

TEST_CASE_METHOD(WatchFixture, "two who wait for each other have time while another one works") {
  at(0, 3, 2, "1");
  at(1, 3, 2, "1");
  for (int step = 0; step < 5; ++step) {
    tell({.rank = 2, .step = step});
    CHECK_FALSE(after(4s));
  }
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kDeadlock);
  CHECK(hang->waiting == std::vector{0, 1});
}

TEST_CASE_METHOD(WatchFixture, "a rank that holds up ranks that hold up others is to blame") {
  tell({.rank = 0, .groups = {{"1", 3, 2}}});
  tell({.rank = 1, .groups = {{"1", 2, 2}, {"2", 3, 2}}});
  tell({.rank = 2, .groups = {{"2", 2, 2}}});
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kMissing);
  CHECK(hang->missing == std::vector{2});
}

TEST_CASE_METHOD(WatchFixture, "who does not reach the store is missing, if it does nothing") {
  tell({.rank = 0, .waits_in = "init_process_group"});
  tell({.rank = 2, .waits_in = "init_process_group"});
  SECTION("and sleeps") {
    tell({.rank = 1, .idle = true});
    const auto hang = after(5s);
    REQUIRE(hang);
    CHECK(hang->group.empty());
    CHECK(hang->missing == std::vector{1});
    CHECK(hang->waiting == std::vector{0, 2});
  }
  SECTION("or computes for long") {
    tell({.rank = 1, .busy = true});
    CHECK(after(5s));
  }
  SECTION("but one that is on its way on a slow machine has time") {
    tell({.rank = 1});
    CHECK_FALSE(after(60s));
    CHECK(after(60s));
  }
  SECTION("and one of which nothing is known, too") {
    CHECK_FALSE(after(60s));
    CHECK(after(60s));
  }
}

TEST_CASE_METHOD(WatchFixture, "all in the store wait for nobody") {
  for (int rank = 0; rank < 3; ++rank) tell({.rank = rank, .waits_in = "wait"});
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kDeadlock);
}

TEST_CASE_METHOD(WatchFixture, "workers that sleep, and wait for nobody, make no progress") {
  for (int rank = 0; rank < 3; ++rank) tell({.rank = rank, .groups = {{"0", 4, 4}}, .idle = true});
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kNoProgress);
  CHECK(hang->missing == std::vector{0, 1, 2});
}

TEST_CASE_METHOD(WatchFixture, "who has ended is neither asleep nor expected to go on") {
  tell({.rank = 0, .idle = true});
  tell({.rank = 1, .ended = true, .idle = true});
  tell({.rank = 2, .idle = true});
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->missing == std::vector{0, 2});
}

TEST_CASE_METHOD(WatchFixture, "who has ended waits for nobody, whatever it has told before") {
  const bool in_store = GENERATE(false, true);
  tell({.rank = 0, .ended = true, .groups = {{"0", 12, 12}}});
  tell({.rank = 1, .groups = {{"0", 12, 12}}, .idle = true});
  RankProgress last{.rank = 2, .ended = true, .groups = {{"0", 12, 11}}};
  if (in_store) last.waits_in = "store";
  tell(last);
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->kind == Kind::kNoProgress);
  CHECK(hang->missing == std::vector{1});
  CHECK(hang->waiting.empty());
}

TEST_CASE_METHOD(WatchFixture, "a rank that has ended is missed by ranks that still wait for it") {
  at(0, 1, 0);
  tell({.rank = 1, .ended = true});
  at(2, 1, 0);
  CHECK(after(5s)->missing == std::vector{1});
}

TEST_CASE_METHOD(WatchFixture, "one that sleeps while others compute may have nothing to do") {
  tell({.rank = 0, .groups = {{"0", 4, 4}}, .idle = true});
  tell({.rank = 1, .groups = {{"0", 4, 4}}});
  tell({.rank = 2, .groups = {{"0", 4, 4}}});
  CHECK_FALSE(after(100s));
}

TEST_CASE_METHOD(WatchFixture, "who computes without a word hangs only if the user said how long") {
  for (int rank = 0; rank < 3; ++rank) tell({.rank = rank, .groups = {{"0", 4, 4}}, .busy = true});
  CHECK(after(5s));
  patience.learned = true;
  CHECK_FALSE(after(1000s));
}

TEST_CASE_METHOD(WatchFixture, "a rank whose steps have ended makes no progress") {
  tell({.rank = 0, .idle = true, .step = 7});
  tell({.rank = 1, .step = 7});
  const auto hang = after(5s);
  REQUIRE(hang);
  CHECK(hang->missing == std::vector{0, 1});
}

TEST_CASE_METHOD(WatchFixture, "with a learned timeout others wait longer for one that computes") {
  patience.learned = true;
  at(0, 12, 11);
  at(2, 12, 11);
  tell({.rank = 1, .groups = {{"0", 11, 11}}, .busy = true});
  CHECK_FALSE(after(14s));
  CHECK(after(1s));
}

TEST_CASE_METHOD(WatchFixture, "a program that tells nothing never hangs") {
  for (int rank = 0; rank < 3; ++rank) table.take({.rank = rank, .idle = true}, now);
  CHECK_FALSE(after(10'000s));
}

TEST_CASE_METHOD(WatchFixture, "a hang is over when the waiting ranks go on") {
  at(0, 12, 11);
  at(1, 11, 11);
  at(2, 12, 11);
  const auto hang = after(5s);
  REQUIRE(hang);
  const TimePoint then = now;
  now += 1s;
  CHECK_FALSE(is_over(*hang, table, then));
  tell({.rank = 1, .groups = {{"0", 11, 11}}, .idle = true, .still_ms = 6000});
  CHECK_FALSE(is_over(*hang, table, then));  // it only tells more
  at(0, 12, 12);
  CHECK(is_over(*hang, table, then));
}

TEST_CASE_METHOD(WatchFixture, "the timeout is learned from the longest pause") {
  CHECK_FALSE(hang_patience(kHangTimeoutOff, table));
  CHECK(hang_patience(3s, table)->timeout == 3s);
  const std::chrono::milliseconds learn = kHangTimeoutAuto;
  CHECK(hang_patience(learn, table)->timeout == 60s);
  at(0, 1, 1);
  tell({.rank = 0, .groups = {{"0", 2, 2}}, .paused_ms = 20'000});
  CHECK(hang_patience(learn, table)->timeout == 200s);
  tell({.rank = 0, .groups = {{"0", 2, 2}}, .paused_ms = 90'000});
  CHECK(hang_patience(learn, table)->timeout == 200s);  // it has not gone on
  tell({.rank = 0, .groups = {{"0", 3, 2}}, .paused_ms = 90'000});
  CHECK(hang_patience(learn, table)->timeout == 200s);  // nor has who only enters a collective
}

TEST_CASE_METHOD(WatchFixture, "a pause in which the job was debugged teaches nothing") {
  at(0, 1, 1);
  table.suspend();
  now += 100s;
  tell({.rank = 0, .groups = {{"0", 2, 2}}, .paused_ms = 90'000});
  CHECK(table.longest_pause() == 0ms);
  table.resume(now);
  now += 10s;
  tell({.rank = 0, .groups = {{"0", 3, 3}}, .paused_ms = 11'000});  // it began before
  CHECK(table.longest_pause() == 0ms);
  tell({.rank = 0, .groups = {{"0", 4, 4}}, .paused_ms = 10'000});
  CHECK(table.longest_pause() == 10s);
}

TEST_CASE_METHOD(WatchFixture, "when nobody debugs any more all ranks are as if they had gone on") {
  at(0, 1, 1);
  table.suspend();
  now += 100s;
  table.resume(now);
  CHECK(table.find(0)->since == now);
  CHECK(table.began() == now);  // for ranks that have told nothing
  now += 5s;
  tell({.rank = 0, .groups = {{"0", 1, 1}}, .still_ms = 105'000});
  CHECK(table.find(0)->since == now - 5s);
}

TEST_CASE_METHOD(WatchFixture, "the start of the workers is no pause to learn from") {
  tell({.rank = 0, .groups = {{"0", 1, 1}}, .paused_ms = 50'000});
  CHECK(table.longest_pause() == 0ms);
}

TEST_CASE_METHOD(WatchFixture, "a report of a rank that is not in the round is passed over") {
  at(3, 1, 0);
  at(-1, 1, 0);
  CHECK(table.ranks().empty());
}

TEST_CASE_METHOD(WatchFixture, "how long a rank stands still is what its agent says") {
  now += 10s;
  tell({.rank = 0, .still_ms = 4000});
  CHECK(table.find(0)->since == now - 4s);
  tell({.rank = 0, .still_ms = 400'000});  // longer than the round
  CHECK(table.find(0)->since == table.began());
}

}  // namespace
}  // namespace ddprun
