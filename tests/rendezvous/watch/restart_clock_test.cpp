#include "rendezvous/watch/restart_clock.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// A job of two nodes that begins at 0 s. Its first round is sealed at 1 s and runs at 2 s.
class ClockFixture {
 protected:
  ClockFixture() {
    clock.sealed(1, 2, at(1s));
    clock.started(at(1500ms));
    clock.started(at(2s));
  }
  static TimePoint at(Clock::duration time) { return TimePoint{} + time; }
  /// Round 1 fails at 10 s, which is noticed 4 ms later; round 2 runs at 12 s.
  void restarts() {
    clock.stop_ordered(1, "rank 1 exited with code 3", false, 4ms, at(10'004ms));
    clock.stopped(at(10'035ms));
    clock.sealed(2, 2, at(10'037ms));
    clock.started(at(11s));
    clock.started(at(12s));
  }
  RestartClock clock{TimePoint{}};
};

TEST_CASE_METHOD(ClockFixture, "a restart is told with all its parts when there is progress") {
  restarts();
  CHECK_FALSE(clock.take_due(at(13s)).has_value());
  clock.progressed(-1, at(13'900ms));
  const RestartTimes times{2, 1, "rank 1 exited with code 3", 4, 31, 2, 1963, 1900};
  CHECK(clock.take_due(at(14s)) == times);
  CHECK_FALSE(clock.take_due(at(14s)).has_value());
  CHECK_FALSE(clock.next_due().has_value());
  CHECK(clock.restarts() == std::vector{times});
}

TEST_CASE_METHOD(ClockFixture, "a restart is told without a first step when none comes for long") {
  restarts();
  CHECK(clock.next_due() == at(12s) + RestartClock::kFirstStepPatience);
  CHECK_FALSE(clock.take_due(at(21'999ms)).has_value());
  const auto told = clock.take_due(at(22s));
  REQUIRE(told.has_value());
  CHECK(told->started_ms == 1963);
  CHECK(told->first_step_ms == -1);
  CHECK_FALSE(told->awaits_step);  // nobody knows whether this program shows any
  clock.progressed(3, at(40s));
  CHECK(clock.take_due(at(40s))->first_step_ms == 28'000);  // told once more
  CHECK_FALSE(clock.take_due(at(41s)).has_value());
  CHECK(clock.restarts().front().first_step_ms == 28'000);
}

TEST_CASE_METHOD(ClockFixture, "a first step is awaited where there was one in a round before") {
  clock.progressed(7, at(5s));
  restarts();
  CHECK(clock.take_due(at(22s))->awaits_step);
  clock.progressed(8, at(40s));
  CHECK_FALSE(clock.take_due(at(40s))->awaits_step);
}

TEST_CASE_METHOD(ClockFixture, "a job that ends does not await a step any more") {
  clock.progressed(7, at(5s));
  restarts();
  CHECK_FALSE(clock.end(at(13s))->awaits_step);
}

TEST_CASE_METHOD(ClockFixture, "it is told whether workers have stayed") {
  clock.stop_ordered(1, "node h2 lost", true, 0ms, at(10s));
  clock.stopped(at(11s));
  clock.sealed(2, 0, at(12s));
  CHECK(clock.restarts().front().in_place);
}

TEST_CASE_METHOD(ClockFixture,
                 "what workers that have stayed did before is no step of the new round") {
  clock.progressed(8, at(9s));
  clock.stop_ordered(1, "node h2 lost", true, 0ms, at(10s));
  clock.stopped(at(10s));
  clock.sealed(2, 1, at(10s));
  clock.started(at(10s));
  clock.progressed(8, at(11s));
  CHECK_FALSE(clock.take_due(at(11s)).has_value());
  clock.progressed(9, at(13s));
  CHECK(clock.take_due(at(13s))->first_step_ms == 3'000);
}

TEST_CASE_METHOD(ClockFixture, "the first round is no restart") {
  CHECK_FALSE(clock.take_due(at(1h)).has_value());
  CHECK_FALSE(clock.next_due().has_value());
  CHECK(clock.restarts().empty());
  CHECK_FALSE(clock.end(at(1h)).has_value());
}

TEST_CASE_METHOD(ClockFixture, "a restart whose round fails at once is told as far as it came") {
  restarts();
  clock.stop_ordered(2, "rank 0 exited with code 1", false, 0ms, at(12'500ms));
  const auto told = clock.take_due(at(12'500ms));
  REQUIRE(told.has_value());
  CHECK(told->round == 2);
  CHECK(told->first_step_ms == -1);
  clock.stopped(at(13s));
  clock.sealed(3, 2, at(14s));
  CHECK_FALSE(clock.take_due(at(14s)).has_value());
  const auto last = clock.end(at(15s));
  REQUIRE(last.has_value());
  CHECK(*last == RestartTimes{3, 2, "rank 0 exited with code 1", 0, 500, 1000, -1, -1});
  CHECK(clock.restarts().size() == 2);
}

TEST_CASE_METHOD(ClockFixture, "a round that is stopped for good is no restart") {
  clock.stop_ordered(1, "rank 1 exited with code 3", false, 0ms, at(10s));
  clock.stopped(at(11s));
  CHECK_FALSE(clock.end(at(11s)).has_value());
  CHECK(clock.restarts().empty());
  CHECK(clock.goodput(at(11s)).restarts == 0);
}

TEST_CASE_METHOD(ClockFixture, "nodes that do not tell when their workers run are not waited for") {
  clock.stop_ordered(1, "why", false, 0ms, at(10s));
  clock.stopped(at(11s));
  clock.sealed(2, 0, at(12s));
  clock.started(at(12s));
  CHECK(clock.next_due() == at(12s) + RestartClock::kFirstStepPatience);
  const auto told = clock.take_due(at(22s));
  REQUIRE(told.has_value());
  CHECK(told->started_ms == -1);
}

TEST_CASE_METHOD(ClockFixture, "the time of a job without restarts went into training") {
  const Goodput goodput = clock.goodput(at(12s));
  CHECK(goodput.wall_s == 12);
  CHECK(goodput.training_s == 10);
  CHECK(goodput.restarts_s == 0);
  CHECK(goodput.restarts == 0);
  CHECK(goodput.lost_steps == -1);
  CHECK(goodput.goodput_percent == -1);  // nobody knows what was lost
}

TEST_CASE_METHOD(ClockFixture, "what goes before the first step is no training") {
  clock.progressed(0, at(5s));
  const Goodput goodput = clock.goodput(at(12s));
  CHECK(goodput.training_s == 7);
  CHECK(goodput.goodput_percent == Approx(100 * 7.0 / 12));
}

TEST_CASE_METHOD(ClockFixture, "a restart takes from the failure until the first step") {
  restarts();
  clock.progressed(-1, at(14s));
  clock.end(at(20s));
  const Goodput goodput = clock.goodput(at(20s));
  CHECK(goodput.restarts_s == 4);
  CHECK(goodput.training_s == 14);  // from 2 to 10, and from 14 to 20
  CHECK(goodput.restarts == 1);
}

TEST_CASE_METHOD(ClockFixture, "steps behind the last checkpoint are lost, with their time") {
  for (int step = 0; step <= 20; ++step) clock.progressed(step, at(2s + step * 300ms));
  restarts();
  clock.progressed(16, at(13s));
  clock.progressed(17, at(14s));
  const Goodput goodput = clock.goodput(at(20s));
  CHECK(goodput.lost_steps == 5);  // 16 to 20
  CHECK(goodput.lost_s == Approx(1.5));
  CHECK(goodput.goodput_percent == Approx(100 * (goodput.training_s - 1.5) / 20));
}

TEST_CASE_METHOD(ClockFixture, "how long a step takes is not known before there are two") {
  clock.progressed(20, at(9s));
  restarts();
  clock.progressed(18, at(13s));
  CHECK(clock.goodput(at(20s)).lost_steps == 3);
  CHECK(clock.goodput(at(20s)).lost_s == 0);
}

TEST_CASE_METHOD(ClockFixture, "no step is lost when the training goes on behind the last one") {
  clock.progressed(20, at(9s));
  restarts();
  clock.progressed(21, at(13s));
  CHECK(clock.goodput(at(20s)).lost_steps == 0);
}

TEST_CASE_METHOD(ClockFixture, "a job of any length keeps its last restarts and counts all") {
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = at(10s + i * 1s);
    clock.stop_ordered(i + 1, "again", false, 0ms, now);
    clock.stopped(now);
    clock.sealed(i + 2, 0, now);
  }
  CHECK(clock.restarts().size() == kRestartsToldMax);
  CHECK(clock.restarts().back().round == 1001);
  CHECK(clock.goodput(at(2000s)).restarts == 1000);
}

}  // namespace
}  // namespace ddprun
