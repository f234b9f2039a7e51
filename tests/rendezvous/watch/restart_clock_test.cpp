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
  void stops(int round, const char* reason, bool in_place, Clock::duration noticed_after,
             TimePoint now) {
    clock.stop_ordered(
        {.round = round, .reason = reason, .in_place = in_place, .noticed_after = noticed_after},
        now);
  }
  /// A worker tells its first step of the round, and its last one.
  void told(std::int64_t first, Clock::duration first_at, std::int64_t last, TimePoint seen) {
    clock.progressed({last, seen, Advance::Step{first, at(first_at)}});
  }
  /// Round 1 fails at 10 s, which is noticed 4 ms later; round 2 runs at 12 s.
  void restarts() {
    stops(1, "rank 1 exited with code 3", false, 4ms, at(10'004ms));
    clock.stopped(at(10'035ms));
    clock.sealed(2, 2, at(10'037ms));
    clock.started(at(11s));
    clock.started(at(12s));
  }
  RestartClock clock{TimePoint{}};
};

TEST_CASE_METHOD(ClockFixture, "a restart is reported with all its parts when there is progress") {
  restarts();
  CHECK_FALSE(clock.take_due(at(13s)).has_value());
  clock.progressed({.step = -1, .at = at(13'900ms)});
  const RestartTimes times{.round = 2,
                           .from_round = 1,
                           .reason = "rank 1 exited with code 3",
                           .detected_ms = 4,
                           .stopped_ms = 31,
                           .sealed_ms = 2,
                           .started_ms = 1963,
                           .first_step_ms = 1900,
                           .first_step_seen = true};
  CHECK(clock.take_due(at(14s)) == times);
  CHECK_FALSE(clock.take_due(at(14s)).has_value());
  CHECK_FALSE(clock.next_due().has_value());
  CHECK(clock.restarts() == std::vector{times});
}

TEST_CASE_METHOD(ClockFixture,
                 "a restart is reported without a first step when none comes for long") {
  restarts();
  CHECK(clock.next_due() == at(12s) + RestartClock::kFirstStepPatience);
  CHECK_FALSE(clock.take_due(at(21'999ms)).has_value());
  const auto told = clock.take_due(at(22s));
  REQUIRE(told.has_value());
  CHECK(told->started_ms == 1963);
  CHECK(told->first_step_ms == -1);
  CHECK_FALSE(told->awaits_step);  // nobody knows whether this program shows any
  clock.progressed({.step = 3, .at = at(40s)});
  CHECK(clock.take_due(at(40s))->first_step_ms == 28'000);  // told once more
  CHECK_FALSE(clock.take_due(at(41s)).has_value());
  CHECK(clock.restarts().front().first_step_ms == 28'000);
}

TEST_CASE_METHOD(ClockFixture, "a first step is awaited where there was one in a round before") {
  clock.progressed({.step = 7, .at = at(5s)});
  restarts();
  CHECK(clock.take_due(at(22s))->awaits_step);
  clock.progressed({.step = 8, .at = at(40s)});
  CHECK_FALSE(clock.take_due(at(40s))->awaits_step);
}

TEST_CASE_METHOD(ClockFixture, "a job that ends does not await a step any more") {
  clock.progressed({.step = 7, .at = at(5s)});
  restarts();
  CHECK_FALSE(clock.end(at(13s))->awaits_step);
}

TEST_CASE_METHOD(ClockFixture, "a restart says whether workers have stayed") {
  stops(1, "node h2 lost", true, 0ms, at(10s));
  clock.stopped(at(11s));
  clock.sealed(2, 0, at(12s));
  CHECK(clock.restarts().front().in_place);
}

TEST_CASE_METHOD(ClockFixture,
                 "what workers that have stayed did before is no step of the new round") {
  clock.progressed({.step = 8, .at = at(9s)});
  stops(1, "node h2 lost", true, 0ms, at(10s));
  clock.stopped(at(10s));
  clock.sealed(2, 1, at(10s));
  clock.started(at(10s));
  clock.progressed({.step = 8, .at = at(11s)});
  CHECK_FALSE(clock.take_due(at(11s)).has_value());
  clock.progressed({.step = 9, .at = at(13s)});
  CHECK(clock.take_due(at(13s))->first_step_ms == 3'000);
}

TEST_CASE_METHOD(ClockFixture, "the first round is no restart") {
  CHECK_FALSE(clock.take_due(at(1h)).has_value());
  CHECK_FALSE(clock.next_due().has_value());
  CHECK(clock.restarts().empty());
  CHECK_FALSE(clock.end(at(1h)).has_value());
}

TEST_CASE_METHOD(ClockFixture,
                 "a restart whose round fails at once is reported as far as it came") {
  restarts();
  stops(2, "rank 0 exited with code 1", false, 0ms, at(12'500ms));
  CHECK_FALSE(clock.take_due(at(12'500ms)).has_value());
  clock.stopped(at(13s));
  const auto told = clock.take_due(at(13s));
  REQUIRE(told.has_value());
  CHECK(told->round == 2);
  CHECK(told->first_step_ms == -1);
  clock.sealed(3, 2, at(14s));
  CHECK_FALSE(clock.take_due(at(14s)).has_value());
  const auto last = clock.end(at(15s));
  REQUIRE(last.has_value());
  CHECK(*last == RestartTimes{3, 2, "rank 0 exited with code 1", 0, 500, 1000, -1, -1});
  CHECK(clock.restarts().size() == 2);
}

TEST_CASE_METHOD(ClockFixture, "a round that is stopped for good is no restart") {
  stops(1, "rank 1 exited with code 3", false, 0ms, at(10s));
  clock.stopped(at(11s));
  CHECK_FALSE(clock.end(at(11s)).has_value());
  CHECK(clock.restarts().empty());
  CHECK(clock.goodput(at(11s)).restarts == 0);
}

TEST_CASE_METHOD(ClockFixture, "nodes that do not tell when their workers run are not waited for") {
  stops(1, "why", false, 0ms, at(10s));
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

TEST_CASE_METHOD(ClockFixture, "what goes before the first step is start-up, and no loss") {
  clock.progressed({.step = 0, .at = at(5s)});
  const Goodput goodput = clock.goodput(at(12s));
  CHECK(goodput.startup_s == 5);
  CHECK(goodput.training_s == 7);
  CHECK(goodput.goodput_percent == 100);
}

TEST_CASE_METHOD(ClockFixture, "a failure before the first step is a restart, and no training") {
  restarts();
  clock.progressed({.step = 0, .at = at(15s)});
  const Goodput goodput = clock.goodput(at(20s));
  CHECK(goodput.startup_s == 10);
  CHECK(goodput.restarts_s == 5);
  CHECK(goodput.training_s == 5);
  CHECK(goodput.goodput_percent == 50);
}

TEST_CASE_METHOD(ClockFixture, "a round that fails before its first step has not trained") {
  clock.progressed({.step = 0, .at = at(4s)});
  restarts();
  stops(2, "again", false, 0ms, at(18s));
  CHECK(clock.goodput(at(18s)).training_s == 6);
  CHECK(clock.goodput(at(18s)).restarts_s == 8);
}

TEST_CASE_METHOD(ClockFixture,
                 "a first step that is reported counts, and no look before or after it") {
  told(1, 3s, 40, at(5s));
  restarts();
  clock.progressed({.step = -1, .at = at(12'500ms)});  // a collective, before the first step
  CHECK_FALSE(clock.take_due(at(12'500ms)).has_value());
  told(21, 12'080ms, 30, at(13s));
  const auto times = clock.take_due(at(13s));
  REQUIRE(times.has_value());
  CHECK(times->first_step_ms == 80);
  CHECK_FALSE(times->first_step_seen);
  CHECK(times->steps_again == 20);
  CHECK_FALSE(times->again_at_least);
  const Goodput goodput = clock.goodput(at(20s));
  CHECK(goodput.startup_s == 3);
  CHECK(goodput.lost_steps == 20);  // 21 to 40
  CHECK_FALSE(goodput.lost_at_least);
}

TEST_CASE_METHOD(ClockFixture, "what was only seen is a bound: more may have been done again") {
  for (const int step : {10, 20}) clock.progressed({.step = step, .at = at(step * 400ms)});
  restarts();
  clock.progressed({.step = 15, .at = at(13s)});
  const auto times = clock.take_due(at(13s));
  CHECK(times->first_step_seen);
  CHECK(times->steps_again == 6);
  CHECK(times->again_at_least);
  CHECK(clock.goodput(at(20s)).lost_steps == 6);
  CHECK(clock.goodput(at(20s)).lost_at_least);
}

TEST_CASE_METHOD(ClockFixture,
                 "a restart counts its own steps, also where the first one is heard late") {
  told(1, 3s, 40, at(5s));
  restarts();
  clock.progressed({.step = 30, .at = at(13s)});
  CHECK(clock.restarts().back().steps_again == 11);  // 30 to 40
  CHECK(clock.restarts().back().again_at_least);
  told(21, 12'080ms, 45, at(14s));
  CHECK(clock.restarts().back().steps_again == 20);  // 21 to 40
  CHECK_FALSE(clock.restarts().back().again_at_least);
  stops(2, "again", false, 0ms, at(15s));
  clock.stopped(at(15s));
  clock.sealed(3, 0, at(15s));
  CHECK(clock.restarts().back().steps_again == -1);
  told(43, 15'500ms, 50, at(16s));
  CHECK(clock.restarts().back().steps_again == 3);  // 43 to 45
  CHECK(clock.goodput(at(20s)).lost_steps == 23);
}

TEST_CASE_METHOD(ClockFixture, "how far the workers came may be heard while they are stopped") {
  told(1, 3s, 40, at(5s));
  stops(1, "rank 1 exited with code 3", false, 0ms, at(10s));
  told(1, 3s, 50, at(12s));
  clock.stopped(at(40s));
  told(1, 3s, 60, at(40s));  // too late to be of a round
  clock.sealed(2, 0, at(40s));
  told(21, 41s, 22, at(42s));
  CHECK(clock.goodput(at(50s)).lost_steps == 30);  // 21 to 50
  CHECK(clock.goodput(at(50s)).lost_s == Approx(30 * 7.0 / 49));
}

TEST_CASE_METHOD(ClockFixture, "the first step of a short round is heard when it is over") {
  told(1, 3s, 40, at(5s));
  restarts();
  stops(2, "again", false, 0ms, at(12'900ms));
  CHECK_FALSE(clock.take_due(at(13s)).has_value());
  told(31, 12'200ms, 35, at(13s));
  clock.stopped(at(14s));
  const auto times = clock.take_due(at(14s));
  REQUIRE(times.has_value());
  CHECK(times->first_step_ms == 200);
  CHECK(clock.goodput(at(14s)).training_s == Approx(7.7));
  CHECK(clock.goodput(at(14s)).lost_steps == 10);  // 31 to 40
}

TEST_CASE_METHOD(ClockFixture, "a first step that is reported replaces the one that was seen") {
  clock.progressed({.step = -1, .at = at(2'500ms)});
  told(1, 4s, 3, at(5s));
  CHECK(clock.goodput(at(10s)).startup_s == 4);
  CHECK(clock.goodput(at(10s)).training_s == 6);
}

TEST_CASE_METHOD(ClockFixture, "workers that stay do not wait for those that are started") {
  told(1, 3s, 8, at(9s));
  stops(1, "rank 1 was killed", true, 0ms, at(10s));
  clock.stopped(at(10s));
  clock.sealed(2, 1, at(10s));
  clock.started(at(10'500ms));
  told(9, 10'080ms, 12, at(11s));
  CHECK(clock.take_due(at(11s))->first_step_ms == 80);
  CHECK(clock.goodput(at(12s)).restarts_s == Approx(0.08));
}

TEST_CASE_METHOD(ClockFixture, "workers that stay may repeat the number of a step") {
  told(1, 3s, 8, at(9s));
  stops(1, "node h2 lost", true, 0ms, at(10s));
  clock.stopped(at(10s));
  clock.sealed(2, 0, at(10s));
  told(8, 10'090ms, 8, at(11s));
  const auto times = clock.take_due(at(11s));
  REQUIRE(times.has_value());
  CHECK(times->first_step_ms == 90);
  CHECK(times->started_ms == -1);
  CHECK(clock.goodput(at(11s)).lost_steps == 1);
}

TEST_CASE_METHOD(ClockFixture, "a round that only takes others in follows no restart") {
  clock.stop_ordered({.round = 1, .reason = "why", .in_place = true, .nobody_lost = true}, at(10s));
  clock.stopped(at(10s));
  clock.sealed(2, 0, at(10s));
  CHECK(clock.goodput(at(11s)).restarts == 0);
  CHECK(clock.goodput(at(11s)).changes == 1);
  CHECK(clock.restarts().front().nobody_lost);
}

TEST_CASE_METHOD(ClockFixture, "a restart takes from the failure until the first step") {
  clock.progressed({.step = -1, .at = at(3s)});
  restarts();
  clock.progressed({.step = -1, .at = at(14s)});
  clock.end(at(20s));
  const Goodput goodput = clock.goodput(at(20s));
  CHECK(goodput.restarts_s == 4);
  CHECK(goodput.training_s == 13);  // from 3 to 10, and from 14 to 20
  CHECK(goodput.restarts == 1);
}

TEST_CASE_METHOD(ClockFixture, "steps behind the last checkpoint are lost, with their time") {
  for (int step = 0; step <= 20; ++step)
    clock.progressed({.step = step, .at = at(2s + step * 300ms)});
  restarts();
  clock.progressed({.step = 16, .at = at(13s)});
  clock.progressed({.step = 17, .at = at(14s)});
  const Goodput goodput = clock.goodput(at(20s));
  CHECK(goodput.lost_steps == 5);  // 16 to 20
  CHECK(goodput.lost_s == Approx(1.5));
  CHECK(goodput.goodput_percent == Approx(100 * (goodput.training_s - 1.5) / 18));
}

TEST_CASE_METHOD(ClockFixture, "how long a step takes is not known before there are two") {
  clock.progressed({.step = 20, .at = at(9s)});
  restarts();
  clock.progressed({.step = 18, .at = at(13s)});
  CHECK(clock.goodput(at(20s)).lost_steps == 3);
  CHECK(clock.goodput(at(20s)).lost_s == 0);
}

TEST_CASE_METHOD(ClockFixture, "no step is lost when the training goes on behind the last one") {
  clock.progressed({.step = 20, .at = at(9s)});
  restarts();
  clock.progressed({.step = 21, .at = at(13s)});
  CHECK(clock.goodput(at(20s)).lost_steps == 0);
}

TEST_CASE_METHOD(ClockFixture, "a job of any length keeps its last restarts and counts all") {
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = at(10s + i * 1s);
    stops(i + 1, "again", false, 0ms, now);
    clock.stopped(now);
    clock.sealed(i + 2, 0, now);
  }
  CHECK(clock.restarts().size() == kRestartsToldMax);
  CHECK(clock.restarts().back().round == 1001);
  CHECK(clock.goodput(at(2000s)).restarts == 1000);
}

}  // namespace
}  // namespace ddprun
