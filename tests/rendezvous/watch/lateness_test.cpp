#include "rendezvous/watch/lateness.hpp"

#include "tests/rendezvous/watch/training_model.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

std::map<int, ArrivalTimes> arrivals_of(const TrainingModel& training, int ranks) {
  std::map<int, ArrivalTimes> arrivals;
  for (int rank = 0; rank < ranks; ++rank) {
    const GroupArrivals told = training.told(rank);
    ArrivalTimes& times = arrivals[rank];
    times = {told.first, {told.at_us}};
    for (const std::int64_t pause : told.pauses_us)
      times.at_us.push_back(times.at_us.back() + pause);
  }
  return arrivals;
}

TEST_CASE("a rank is late by what it computes longer, once in a step") {
  TrainingModel training{4, [](int rank, int) { return rank == 2 ? 50'000 : 20'000; }};
  training.train(20);
  const auto found = measure_lateness(arrivals_of(training, 4), 10, 0);
  REQUIRE(found.has_value());
  CHECK(found->steps == 10);
  CHECK(found->elapsed_us == 10 * 53'000);
  const Lateness& late = found->ranks.at(2);
  CHECK(late.late_us == 10 * 30'000);
  CHECK(late.cost_us == 10 * 30'000);
  CHECK(late.waited_us == 0);
  CHECK(late.times_late == 10);
  CHECK(found->ranks.at(0).late_us == 0);
  CHECK(found->ranks.at(0).waited_us == 10 * 30'000);
  CHECK(found->ranks.at(0).times_late == 0);
}

TEST_CASE("without the last rank, the others would have waited for the second one all the same") {
  TrainingModel training{3, [](int rank, int) { return 20'000 + 10'000 * rank; }};
  training.train(8);
  const auto found = measure_lateness(arrivals_of(training, 3), 4, 0);
  REQUIRE(found.has_value());
  CHECK(found->ranks.at(2).cost_us == 4 * 10'000);
  CHECK(found->ranks.at(1).cost_us == 0);
  CHECK(found->ranks.at(2).late_us == 4 * 10'000);
}

TEST_CASE("of two ranks the later one is late") {
  TrainingModel training{2, [](int rank, int) { return rank == 0 ? 30'000 : 20'000; }};
  training.train(8);
  const auto found = measure_lateness(arrivals_of(training, 2), 4, 0);
  REQUIRE(found.has_value());
  CHECK(found->ranks.at(0).late_us == 4 * 10'000);
  CHECK(found->ranks.at(1).late_us == 0);
}

TEST_CASE("as many steps are looked at as fit into the time") {
  TrainingModel training{2, [](int, int) { return 97'000; }, 3};  // a step takes 0.1 s
  training.train(40);
  const auto found = measure_lateness(arrivals_of(training, 2), 12, 2 * kSecond);
  REQUIRE(found.has_value());
  CHECK(found->steps == 20);
  CHECK(found->last - found->first + 1 == 60);
}

TEST_CASE("nothing is known of one rank, of few steps, or without a collective in common") {
  TrainingModel training{2, [](int, int) { return 20'000; }};
  training.train(5);
  CHECK_FALSE(measure_lateness(arrivals_of(training, 1), 2, 0).has_value());
  CHECK(measure_lateness(arrivals_of(training, 2), 3, 0).has_value());
  CHECK_FALSE(measure_lateness(arrivals_of(training, 2), 4, 0).has_value());
  auto apart = arrivals_of(training, 2);
  apart[1].first += 1000;
  CHECK_FALSE(measure_lateness(apart, 1, 0).has_value());
}

TEST_CASE("collectives for which nobody waits are one step, of which nothing is known") {
  std::map<int, ArrivalTimes> arrivals;
  for (int i = 0; i < 100; ++i) {
    arrivals[0].at_us.push_back(1'000 * i);
    arrivals[1].at_us.push_back(1'000 * i + 5'000);  // it never catches up
  }
  CHECK_FALSE(measure_lateness(arrivals, 1, 0).has_value());
}

}  // namespace
}  // namespace ddprun
