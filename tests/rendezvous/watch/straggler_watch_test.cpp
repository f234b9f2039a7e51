#include "rendezvous/watch/straggler_watch.hpp"

#include <random>
#include <utility>

#include "tests/rendezvous/watch/training_model.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Compute = TrainingModel::Compute;

/// Some ranks train, and all of them are looked at every four seconds.
class Looked {
 public:
  Looked(int ranks, Compute compute, int buckets = 3)
      : ranks_{ranks}, training_{ranks, std::move(compute), buckets} {
    watch_.begin_round(1, ranks);
  }

  /// Trains until the next look. Returns what is new then.
  StragglerWatch::Change look(const std::function<StrainRates(int rank)>& strain_of = {},
                              std::int64_t time_us = 4'000'000) {
    const std::int64_t until = training_.now_us() + time_us;
    while (training_.now_us() < until) training_.train(1);
    StragglerWatch::Change change;
    for (int rank = 0; rank < ranks_; ++rank) {
      Arrivals told{1, rank, training_.now_us(), {training_.told(rank)}};
      if (strain_of) told.strain = strain_of(rank);
      change = watch_.take(told, now());
    }
    return change;
  }
  /// The ranks of the straggler after this many looks; "": there is none.
  std::string after(int looks) {
    for (int i = 0; i < looks; ++i) look();
    return watch_.straggler() ? watch_.straggler()->ranks : "";
  }
  const StragglerWatch& watch() const { return watch_; }
  void sees_in_all_samples(const std::string& doing) {
    for (int number = 1; watch_.next_sample(); ++number) {
      watch_.sample(number, *watch_.next_sample());
      watch_.take(Inspected{number, {.ranks = "1", .doing = doing}, true});
    }
  }
  /// Somebody debugs the job during this many looks.
  void is_debugged(int looks) {
    watch_.suspend(now());
    after(looks);
    watch_.resume(now());
  }
  TimePoint now() const { return TimePoint{} + std::chrono::microseconds{training_.now_us()}; }

 private:
  int ranks_;
  TrainingModel training_;
  StragglerWatch watch_;
};

/// All compute for 0.1 s, and the rank for so much longer.
Compute slow(int slow_rank, std::int64_t longer_us) {
  return [=](int rank, int) { return 97'000 + (rank == slow_rank ? longer_us : 0); };
}

TEST_CASE("a rank that is late in each step is a straggler after two looks") {
  Looked job{4, slow(2, 25'000)};
  CHECK(std::holds_alternative<std::monostate>(job.look()));
  const auto change = job.look();
  REQUIRE(std::holds_alternative<StragglerWatch::Found>(change));
  const Straggler& found = std::get<StragglerWatch::Found>(change).straggler;
  CHECK(found.ranks == "2");
  CHECK(found.cost_percent == 20.0);
  CHECK(found.late_us == 25'000);
  CHECK(found.step_us == 125'000);
  CHECK(found.lasts_ms >= 4'000);
  CHECK(std::holds_alternative<std::monostate>(job.look()));  // it is known
  CHECK(job.watch().straggler().has_value());
  CHECK(job.watch().late_part(2).value() == 0.2);
  CHECK(job.watch().late_part(0).value() == 0.0);
}

TEST_CASE("no rank is slow while the job is debugged, nor by what it has done meanwhile") {
  Looked job{4, slow(2, 25'000)};
  job.is_debugged(3);
  CHECK_FALSE(job.watch().straggler());
  CHECK_FALSE(job.watch().late_part(2));
  CHECK(job.after(1).empty());
  CHECK(job.after(1) == "2");
}

TEST_CASE("what all have entered before a debugger was closed is not looked at") {
  bool is_slow = true;
  Looked job{4, [&](int rank, int) { return 97'000 + (rank == 2 && is_slow ? 25'000 : 0); }};
  job.is_debugged(1);
  is_slow = false;
  job.look({}, 2'000'000);
  CHECK(job.watch().late_part(2) == 0.0);
}

TEST_CASE("the time in which the job was debugged makes no rank slow for longer") {
  Looked job{4, slow(2, 25'000)};
  job.look();
  job.is_debugged(10);
  job.look();
  REQUIRE(job.watch().straggler());
  CHECK(job.watch().straggler()->lasts_ms < 10'000);
}

TEST_CASE("a straggler comes with its cause, also when that is known only later") {
  Looked job{3, slow(1, 25'000)};
  REQUIRE(job.after(2) == "1");
  CHECK(job.watch().straggler()->why.empty());
  const auto change = job.look([](int rank) {
    return StrainRates{.cpus = 2, .ran = 0.5, .queued = rank == 1 ? 0.4 : 0.01};
  });
  REQUIRE(std::holds_alternative<StragglerWatch::Found>(change));
  CHECK_THAT(std::get<StragglerWatch::Found>(change).straggler.why,
             contains("had no CPU for 40 %"));
  job.look();
  CHECK_THAT(job.watch().straggler()->why, contains("40 %"));
}

TEST_CASE("a straggler that is as fast as the others is none after two looks") {
  int extra = 25'000;
  Looked job{4, [&](int rank, int) { return 97'000 + (rank == 2 ? extra : 0); }};
  REQUIRE(job.after(2) == "2");
  extra = 0;
  CHECK(job.after(1) == "2");
  const auto change = job.look();
  REQUIRE(std::holds_alternative<StragglerWatch::Over>(change));
  CHECK(std::get<StragglerWatch::Over>(change).ranks == "2");
  CHECK_FALSE(job.watch().straggler().has_value());
}

/// All sleep for half of the time; what rank 2 sends takes longer.
StrainRates far_away(int rank) {
  StrainRates strain{.cpus = 2, .ran = 0.5, .queued = 0.02};
  strain.sending = rank == 2 ? 0.45 : 0.05;
  return strain;
}

TEST_CASE("a rank with a slow network slows all without being late") {
  Looked job{4, slow(2, 0)};
  CHECK(std::holds_alternative<std::monostate>(job.look(far_away)));
  const auto change = job.look(far_away);
  REQUIRE(std::holds_alternative<StragglerWatch::Found>(change));
  const Straggler& found = std::get<StragglerWatch::Found>(change).straggler;
  CHECK(found.ranks == "2");
  CHECK(found.late_us == 0);
  CHECK(found.cost_percent == Approx(40));
  CHECK(found.why ==
        "what it sends was in flight for 45 % of the time, that of the others for 5 %");
  CHECK_FALSE(job.watch().next_sample());
}

TEST_CASE("of a rank that is late by its network, what that costs all is reported") {
  Looked late{4, slow(2, 12'000)};
  for (int i = 0; i < 2; ++i) late.look(far_away);
  REQUIRE(late.watch().straggler());
  CHECK(late.watch().straggler()->late_us == 0);
  Looked later{4, slow(2, 300'000)};
  for (int i = 0; i < 4; ++i)
    later.look([](int rank) {
      StrainRates strain = far_away(rank);
      strain.ran = rank == 2 ? 0.97 : 0.2;
      return strain;
    });
  REQUIRE(later.watch().straggler());
  CHECK(later.watch().straggler()->late_us == 300'000);
}

TEST_CASE("where messages take long, a rank that only waits for them is not blamed") {
  // What rank 2 sends takes long, and comes to rank 1 last. Rank 0 sends through its queue as well.
  const auto strain = [](int rank) {
    StrainRates far = far_away(rank);
    far.sending = rank == 1 ? 0.1 : 0.6;
    return far;
  };
  Looked job{3, slow(1, 30'000)};
  for (int i = 0; i < 4; ++i) job.look(strain);
  CHECK_FALSE(job.watch().straggler());
  Looked sleeps{3, slow(1, 30'000)};
  sleeps.look(strain);
  sleeps.sees_in_all_samples("sleeps at load (train.py:7)");
  for (int i = 0; i < 2; ++i) sleeps.look(strain);
  REQUIRE(sleeps.watch().straggler());
  CHECK_THAT(sleeps.watch().straggler()->why, contains("it sleeps at load"));
}

TEST_CASE("a slow network slows nobody who computes all the time") {
  Looked computes{4, slow(2, 0)};
  for (int i = 0; i < 4; ++i)
    computes.look([](int rank) {
      StrainRates strain = far_away(rank);
      strain.ran = 0.9;
      return strain;
    });
  CHECK_FALSE(computes.watch().straggler());
}

TEST_CASE("a network that is slow for all is no rank's") {
  Looked job{4, slow(2, 0)};
  for (int i = 0; i < 4; ++i) job.look([](int) { return far_away(2); });
  CHECK_FALSE(job.watch().straggler());
}

TEST_CASE("ranks that are late together are reported together") {
  Looked job{8, [](int rank, int) { return rank >= 6 ? 127'000 : 97'000; }};
  REQUIRE(job.after(2) == "6-7");
  CHECK(job.watch().straggler()->cost_percent > 20);
}

TEST_CASE("a rank that saves a checkpoint now and then, or is late by little, is no straggler") {
  Looked saves{
      4, [](int rank, int step) { return 97'000 + (rank == 0 && step % 4 == 0 ? 400'000 : 0); }};
  CHECK(saves.after(10).empty());
  CHECK(Looked{4, slow(1, 4'000)}.after(10).empty());
}

TEST_CASE("ranks that are late in turn are no stragglers") {
  Looked job{4, [](int rank, int step) { return 97'000 + (step % 4 == rank ? 50'000 : 0); }};
  CHECK(job.after(10).empty());
}

TEST_CASE("on a noisy machine there is no straggler") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random{seed};
    std::exponential_distribution<double> noise{1 / 40'000.0};
    Looked job{4, [&](int, int) { return 60'000 + static_cast<std::int64_t>(noise(random)); }};
    for (int i = 0; i < 40; ++i) REQUIRE(job.after(1).empty());
  }
}

TEST_CASE("one that is slow on a noisy machine is found") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random{seed};
    std::exponential_distribution<double> noise{1 / 15'000.0};
    Looked job{4, [&](int rank, int) {
                 return 60'000 + (rank == 3 ? 60'000 : 0) +
                        static_cast<std::int64_t>(noise(random));
               }};
    CHECK(job.after(4) == "3");
  }
}

TEST_CASE("the same collectives told twice are no second look") {
  TrainingModel training{2, [](int rank, int) { return rank == 0 ? 150'000 : 97'000; }};
  training.train(40);
  StragglerWatch watch;
  watch.begin_round(1, 2);
  for (int i = 0; i < 5; ++i)
    for (int rank = 0; rank < 2; ++rank)
      watch.take({1, rank, i, {training.told(rank)}}, TimePoint{} + i * 10s);
  CHECK_FALSE(watch.straggler().has_value());
}

TEST_CASE("what ranks tell of different moments is not compared") {
  // Rank 0 tells twice as often as the others, and last of all, when they have told, too.
  TrainingModel training{3, slow(2, 25'000)};
  StragglerWatch watch;
  watch.begin_round(1, 3);
  for (int moment = 1; moment <= 8; ++moment) {
    training.train(60);
    const auto at = TimePoint{} + moment * 8s;
    for (const int rank : {1, 2})
      if (moment % 2 == 0) watch.take({1, rank, moment, {training.told(rank)}}, at);
    watch.take({1, 0, moment, {training.told(0)}}, at);
  }
  REQUIRE(watch.straggler().has_value());
  CHECK(watch.straggler()->ranks == "2");
}

TEST_CASE("one that waits for a straggler in another group is none itself") {
  // Ranks 0 and 1, and 2 and 3, work together; 0 and 2, and 1 and 3, share their gradients. Rank 3
  // is slow: rank 2 waits for it, and comes late where rank 0 waits.
  const auto pair = [](int slow_rank) {
    TrainingModel both{2, [=](int rank, int) { return rank == slow_rank ? 127'000 : 97'000; }};
    both.train(80);
    return both;
  };
  const TrainingModel work_01 = pair(-1), work_23 = pair(1), share_02 = pair(1), share_13 = pair(1);
  StragglerWatch watch;
  watch.begin_round(1, 4);
  for (int look = 0; look < 4; ++look) {
    const auto shifted = [&](GroupArrivals told) {
      told.first += 1'000 * look;
      return told;
    };
    const auto at = TimePoint{} + look * 10s;
    watch.take({1, 0, look, {shifted(work_01.told(0, "a")), shifted(share_02.told(0, "c"))}}, at);
    watch.take({1, 1, look, {shifted(work_01.told(1, "a")), shifted(share_13.told(0, "d"))}}, at);
    watch.take({1, 2, look, {shifted(work_23.told(0, "b")), shifted(share_02.told(1, "c"))}}, at);
    watch.take({1, 3, look, {shifted(work_23.told(1, "b")), shifted(share_13.told(1, "d"))}}, at);
  }
  REQUIRE(watch.straggler().has_value());
  CHECK(watch.straggler()->ranks == "3");
  CHECK(watch.late_part(2) == 0.0);
}

TEST_CASE("nothing is reported before all ranks have told, and strange words are passed over") {
  TrainingModel training{3, [](int rank, int) { return rank == 0 ? 150'000 : 97'000; }};
  StragglerWatch watch;
  watch.begin_round(1, 3);
  for (int i = 0; i < 6; ++i) {
    training.train(40);
    for (const int rank : {0, 1, 7, -1})
      watch.take({1, rank, i, {training.told(std::max(rank, 0) % 3)}}, TimePoint{} + i * 10s);
    watch.take({1, 1, i, {{"0", INT64_MAX, INT64_MAX, {INT64_MAX}}, {"0", 1, 0, {-1}}}},
               TimePoint{} + i * 10s);
  }
  CHECK_FALSE(watch.straggler().has_value());
}

TEST_CASE("a new round forgets what was seen") {
  Looked job{4, slow(2, 25'000)};
  REQUIRE(job.after(2) == "2");
  StragglerWatch watch = job.watch();
  watch.begin_round(1, 4);
  CHECK_FALSE(watch.straggler().has_value());
  CHECK_FALSE(watch.late_part(2).has_value());
}

}  // namespace
}  // namespace ddprun
