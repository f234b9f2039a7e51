#include "agent/introspection/worker_watch.hpp"

#include <cmath>

#include "rendezvous/messages/job_terms.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Looks at one worker every second, on a clock that moves with each look.
struct WorkerFixture {
  std::optional<RankProgress> looks(WorkerLook look) {
    now += 1s;
    look.deep = look.watched = true;
    look.cpu = cpu;
    look.wanted = wanted;
    return watch.take(look, now);
  }
  std::optional<RankProgress> at(std::int64_t enqueued, std::int64_t completed) {
    return looks({.groups = std::vector{GroupProgress{"0", enqueued, completed}}});
  }

  WorkerWatch watch{3, {.light = 1s, .deep = 1s, .idle = 5s}};
  TimePoint now{};
  std::chrono::milliseconds cpu{0};
  std::chrono::milliseconds wanted{0};
};

TEST_CASE_METHOD(WorkerFixture, "only changes are reported") {
  const auto first = at(1, 1);
  REQUIRE(first);
  CHECK(first->rank == 3);
  CHECK(first->watched);
  CHECK(first->groups == std::vector<GroupProgress>{{"0", 1, 1}});
  cpu += 500ms;
  CHECK_FALSE(at(1, 1));
  cpu += 500ms;
  const auto second = at(2, 1);
  REQUIRE(second);
  CHECK(second->still_ms == 0);
  CHECK(second->paused_ms == 1000);  // between the two looks that have seen the same
}

TEST_CASE_METHOD(WorkerFixture, "light looks make a pause between collectives no longer") {
  const auto light_looks = [this](std::optional<std::int64_t> step) {
    for (int second = 0; second < 14; ++second) {
      now += 1s;
      watch.take({.step = step}, now);
    }
  };
  at(1, 1);
  light_looks({});
  CHECK(at(2, 2)->paused_ms == 0);  // it may have been there since the first light look
  light_looks(7);
  CHECK(looks({.step = 8})->paused_ms == 13'000);  // steps are seen by light looks, too
}

TEST_CASE_METHOD(WorkerFixture, "what a worker that stays has done before is no progress") {
  const auto at_step = [&](std::int64_t step, std::int64_t completed) {
    return looks({.groups = std::vector{GroupProgress{"0", 9, completed}}, .step = step});
  };
  at_step(4, 8);
  watch = WorkerWatch{1, {.light = 1s, .deep = 1s, .idle = 5s}, watch.all(5)};
  const auto entering = at_step(5, 8);
  REQUIRE(entering);
  CHECK(entering->stayed);
  CHECK(entering->step == -1);
  CHECK(entering->groups.empty());
  watch = WorkerWatch{1, {.light = 1s, .deep = 1s, .idle = 5s}, watch.all(5)};
  CHECK(at_step(5, 8)->groups.empty());
  const auto trained = at_step(6, 9);
  REQUIRE(trained);
  CHECK(trained->step == 6);
  CHECK(trained->groups == std::vector<GroupProgress>{{"0", 9, 9}});
}

TEST_CASE_METHOD(WorkerFixture, "the first step is reported with the time at which it was done") {
  const auto first = looks({.step = 9, .first_step = 3, .first_at = now + 20ms});
  REQUIRE(first);
  CHECK(first->first_step == 3);
  CHECK(first->first_ms == 980);
  CHECK_FALSE(looks({.step = 9, .first_step = 3, .first_at = now - 980ms})->first_ms < 1980);
}

TEST_CASE_METHOD(WorkerFixture, "a worker that stays may begin a round with its last step again") {
  looks({.step = 4});
  watch = WorkerWatch{1, {.light = 1s, .deep = 1s, .idle = 5s}, watch.all(4)};
  CHECK(looks({.step = 4})->step == -1);
  CHECK(looks({.step = 4, .first_step = 4, .first_at = now})->step == 4);
}

TEST_CASE_METHOD(WorkerFixture, "who uses no CPU sleeps") {
  at(1, 1);
  const auto asleep = at(1, 1);
  REQUIRE(asleep);
  CHECK(asleep->idle);
  CHECK(asleep->still_ms == 1000);
  CHECK_FALSE(at(1, 1));
  cpu += 900ms;
  const auto awake = at(1, 1);
  REQUIRE(awake);
  CHECK_FALSE(awake->idle);
  CHECK(awake->still_ms == 3000);  // it has not gone on meanwhile
}

TEST_CASE_METHOD(WorkerFixture, "who has computed sleeps when it has not done so for long") {
  at(1, 1);
  cpu += 900ms;
  CHECK_FALSE(at(1, 1));
  for (int i = 0; i < 4; ++i) CHECK_FALSE(at(1, 1));
  const auto asleep = at(1, 1);
  REQUIRE(asleep);
  CHECK(asleep->idle);
}

TEST_CASE_METHOD(WorkerFixture, "who waits for a CPU does not sleep") {
  at(1, 1);
  cpu += 5ms;
  wanted += 900ms;
  CHECK_FALSE(at(1, 1));
}

TEST_CASE_METHOD(WorkerFixture, "what looks cost the worker is not its own work") {
  const auto look = [&] {
    return looks({.groups = std::vector{GroupProgress{"0", 1, 1}}, .asked = 50ms});
  };
  look();
  cpu += 60ms;
  const auto asleep = look();
  REQUIRE(asleep);
  CHECK(asleep->idle);
}

TEST_CASE_METHOD(WorkerFixture, "who has used ten seconds of CPU is busy") {
  at(1, 1);
  for (int i = 0; i < 10; ++i) {
    cpu += 990ms;
    CHECK_FALSE(at(1, 1));
  }
  cpu += 990ms;
  const auto busy = at(1, 1);
  REQUIRE(busy);
  CHECK(busy->busy);
  CHECK_FALSE(at(2, 2)->busy);
}

TEST_CASE_METHOD(WorkerFixture, "an answer that does not come changes nothing that was known") {
  at(5, 5);
  const auto told = looks({.groups = std::nullopt});
  REQUIRE(told);  // that it sleeps
  CHECK(told->groups == std::vector<GroupProgress>{{"0", 5, 5}});
}

TEST_CASE_METHOD(WorkerFixture,
                 "what a worker reports of itself is passed on, a loss that is none as 0") {
  watch.take({.step = 7, .loss = 0.5, .samples_per_second = 12}, now);
  const auto told = watch.take({.step = 8, .steps = 100, .loss = NAN, .left_s = 9}, now + 1s);
  REQUIRE(told);
  CHECK(told->step == 8);
  CHECK(told->steps == 100);
  CHECK(told->has_loss);
  CHECK(told->loss == 0);
  CHECK(told->samples_per_second == 12);
  CHECK(told->left_s == 9);
}

TEST_CASE_METHOD(WorkerFixture, "the end is reported with all that was known") {
  at(5, 5);
  const RankProgress end = watch.end(now + 2s);
  CHECK(end.ended);
  CHECK(end.groups.size() == 1);
  CHECK(end.still_ms == 2000);
}

TEST_CASE("looks are rare, and frequent enough for a short timeout") {
  const auto deep = [](auto timeout) { return look_intervals(timeout).deep; };
  CHECK(deep(kHangTimeoutAuto) == 16s);
  CHECK(deep(kHangTimeoutOff) == 16s);
  CHECK(deep(8s) == 1s);
  CHECK(deep(10ms) == 100ms);
  CHECK(deep(1h) == 16s);
  CHECK(look_intervals(800ms).light == 100ms);
}

TEST_CASE_METHOD(WorkerFixture, "looks that take long are rarer, and the first ones are frequent") {
  watch = WorkerWatch{3, look_intervals(kHangTimeoutAuto)};
  CHECK(watch.deep_pause(50ms) == 1s);
  at(1, 1);
  CHECK(watch.deep_pause(2ms) == 1s);
  CHECK(watch.deep_pause(15ms) == 4s);
  CHECK(watch.deep_pause(50ms) == 16s);
  CHECK(watch.deep_pause(10s) == 16s);  // it has waited for the answer, which costs nobody anything
}

TEST_CASE_METHOD(WorkerFixture,
                 "for a short hang timeout looks are frequent, however long they take") {
  watch = WorkerWatch{3, look_intervals(800ms)};
  at(1, 1);
  CHECK(watch.deep_pause(1ms) == 200ms);
  CHECK(watch.deep_pause(50ms) == 300ms);
  watch = WorkerWatch{3, look_intervals(40s)};
  at(1, 1);
  CHECK(watch.deep_pause(50ms) == 8s);
}

TEST_CASE("looks at all workers of a job are at the same moments") {
  const TimePoint now{5s};
  CHECK(next_deep_look(now, 1'700'000'003'200'000, 4s).due == now + 800ms);
  CHECK(next_deep_look(now, 1'700'000'003'200'000, 4s).second == 1'700'000'004);
  CHECK(next_deep_look(now, 1'700'000'004'000'000, 4s).due == now + 4s);
  CHECK(next_deep_look(now, 1'700'000'003'200'000, 100ms).due == now + 100ms);
}

}  // namespace
}  // namespace ddprun
