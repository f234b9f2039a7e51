#include "rendezvous/rounds/job_history.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegan{};

JobStatus told(const JobHistory& job_history, TimePoint now) {
  JobStatus status{.now_unix_ms = 1'000'000};
  job_history.tell(status, now);
  return status;
}

TEST_CASE("the timeline has each round with the time of day, and why it ended") {
  JobHistory job_history{kBegan};
  job_history.sealed(1, 0, 2, 4, kBegan + 1s);
  job_history.stopped({.reason = "rank 3 exited with code 1"}, kBegan + 5s);
  job_history.sealed(2, 1, 2, 4, kBegan + 6s);
  const JobStatus status = told(job_history, kBegan + 10s);
  CHECK(status.began_unix_ms == 990'000);
  REQUIRE(status.rounds.size() == 2);
  CHECK(status.rounds[0].began_unix_ms == 991'000);
  CHECK(status.rounds[0].ended_unix_ms == 995'000);
  CHECK(status.rounds[0].reason == "rank 3 exited with code 1");
  CHECK(status.rounds[1].attempt == 1);
  CHECK(status.rounds[1].ended_unix_ms == 0);
  CHECK(job_history.reason().empty());
}

TEST_CASE("what stops a round that stops already changes nothing") {
  JobHistory job_history{kBegan};
  job_history.sealed(1, 0, 1, 1, kBegan);
  job_history.stopped({.reason = "the first reason"}, kBegan + 1s);
  job_history.stopped({.reason = "another"}, kBegan + 2s);
  CHECK(told(job_history, kBegan + 3s).rounds.back().reason == "the first reason");
}

TEST_CASE("the timeline says whether workers stayed, and that the last round has ended well") {
  JobHistory job_history{kBegan};
  job_history.sealed(1, 0, 1, 1, kBegan);
  job_history.stopped({.reason = "rank 3 was killed", .keep = true}, kBegan + 1s);
  job_history.sealed(2, 1, 1, 1, kBegan + 2s);
  job_history.ended(kBegan + 3s);
  const JobStatus status = told(job_history, kBegan + 4s);
  CHECK(status.rounds[0].in_place);
  CHECK_FALSE(status.rounds[1].in_place);
  CHECK(status.rounds[1].reason.empty());
  CHECK(status.rounds[1].ended_unix_ms == 999'000);
}

TEST_CASE("only the last rounds are kept") {
  JobHistory job_history{kBegan};
  for (int round = 1; round <= 100; ++round) job_history.sealed(round, 0, 1, 1, kBegan);
  const JobStatus status = told(job_history, kBegan);
  CHECK(status.rounds.size() == kStatusRoundsMax);
  CHECK(status.rounds.back().round == 100);
}

TEST_CASE("a lost node is shown through the next round, and no longer when it is there again") {
  JobHistory job_history{kBegan};
  job_history.sealed(1, 0, 2, 2, kBegan);
  job_history.lost({.host = "h2", .group_rank = 1, .reason = "closed"}, kBegan + 1s);
  job_history.lost({.host = "h3", .group_rank = 2, .reason = "silent"}, kBegan + 1s);
  job_history.sealed(2, 0, 1, 1, kBegan + 2s);
  JobStatus status = told(job_history, kBegan + 3s);
  REQUIRE(status.nodes.size() == 2);
  CHECK(status.nodes[0].state == NodeStatus::State::kLost);
  CHECK(status.nodes[0].silent_ms == 2000);
  CHECK(status.nodes[0].reason == "closed");
  job_history.came("h2");
  CHECK(told(job_history, kBegan + 3s).nodes.front().host == "h3");
  job_history.sealed(3, 0, 1, 1, kBegan + 4s);
  CHECK(told(job_history, kBegan + 5s).nodes.empty());
}

TEST_CASE("curves get no second point at the same time") {
  JobHistory job_history{kBegan};
  CHECK(job_history.wants_point(kBegan));
  job_history.add_point({.step = 1}, kBegan);
  CHECK_FALSE(job_history.wants_point(kBegan));
  CHECK(job_history.wants_point(kBegan + 1min));
}

TEST_CASE("every second point stays when there are too many") {
  JobHistory job_history{kBegan};
  for (std::size_t i = 0; i <= kStatusPointsMax; ++i)
    job_history.add_point({.step = static_cast<std::int64_t>(i)}, kBegan);
  const JobStatus status = told(job_history, kBegan);
  CHECK(status.history.size() == kStatusPointsMax / 2 + 1);
  CHECK(status.history[1].step == 2);
}

TEST_CASE("curves are thinned out over the whole time when there are too many points") {
  JobHistory job_history{kBegan};
  TimePoint now = kBegan;
  std::int64_t step = 0;
  for (; now < kBegan + 1h; now += 100ms)
    if (job_history.wants_point(now)) job_history.add_point({.step = ++step}, now);
  const JobStatus status = told(job_history, now);
  CHECK(status.history.size() <= kStatusPointsMax);
  CHECK(status.history.size() > kStatusPointsMax / 4);
  CHECK(status.history.front().step == 1);
  CHECK(status.history.back().unix_ms > 1'000'000 - 60'000);
}

}  // namespace
}  // namespace ddprun
