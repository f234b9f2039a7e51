#include "rendezvous/rounds/job_chronicle.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kBegan{};

JobStatus told(const JobChronicle& chronicle, TimePoint now) {
  JobStatus status{.now_unix_ms = 1'000'000};
  chronicle.tell(status, now);
  return status;
}

TEST_CASE("the timeline has each round with the time of day, and why it ended") {
  JobChronicle chronicle{kBegan};
  chronicle.sealed(1, 0, 2, 4, kBegan + 1s);
  chronicle.stopped({.reason = "rank 3 exited with code 1"}, kBegan + 5s);
  chronicle.sealed(2, 1, 2, 4, kBegan + 6s);
  const JobStatus status = told(chronicle, kBegan + 10s);
  CHECK(status.began_unix_ms == 990'000);
  REQUIRE(status.rounds.size() == 2);
  CHECK(status.rounds[0].began_unix_ms == 991'000);
  CHECK(status.rounds[0].ended_unix_ms == 995'000);
  CHECK(status.rounds[0].reason == "rank 3 exited with code 1");
  CHECK(status.rounds[1].attempt == 1);
  CHECK(status.rounds[1].ended_unix_ms == 0);
  CHECK(chronicle.reason().empty());
}

TEST_CASE("what stops a round that stops already changes nothing") {
  JobChronicle chronicle{kBegan};
  chronicle.sealed(1, 0, 1, 1, kBegan);
  chronicle.stopped({.reason = "the first reason"}, kBegan + 1s);
  chronicle.stopped({.reason = "another"}, kBegan + 2s);
  CHECK(told(chronicle, kBegan + 3s).rounds.back().reason == "the first reason");
}

TEST_CASE("the timeline says whether workers stayed, and that the last round has ended well") {
  JobChronicle chronicle{kBegan};
  chronicle.sealed(1, 0, 1, 1, kBegan);
  chronicle.stopped({.reason = "rank 3 was killed", .keep = true}, kBegan + 1s);
  chronicle.sealed(2, 1, 1, 1, kBegan + 2s);
  chronicle.ended(kBegan + 3s);
  const JobStatus status = told(chronicle, kBegan + 4s);
  CHECK(status.rounds[0].in_place);
  CHECK_FALSE(status.rounds[1].in_place);
  CHECK(status.rounds[1].reason.empty());
  CHECK(status.rounds[1].ended_unix_ms == 999'000);
}

TEST_CASE("only the last rounds are kept") {
  JobChronicle chronicle{kBegan};
  for (int round = 1; round <= 100; ++round) chronicle.sealed(round, 0, 1, 1, kBegan);
  const JobStatus status = told(chronicle, kBegan);
  CHECK(status.rounds.size() == kStatusRoundsMax);
  CHECK(status.rounds.back().round == 100);
}

TEST_CASE("a lost node is shown through the next round, and no longer when it is there again") {
  JobChronicle chronicle{kBegan};
  chronicle.sealed(1, 0, 2, 2, kBegan);
  chronicle.lost({.host = "h2", .group_rank = 1, .reason = "closed"}, kBegan + 1s);
  chronicle.lost({.host = "h3", .group_rank = 2, .reason = "silent"}, kBegan + 1s);
  chronicle.sealed(2, 0, 1, 1, kBegan + 2s);
  JobStatus status = told(chronicle, kBegan + 3s);
  REQUIRE(status.nodes.size() == 2);
  CHECK(status.nodes[0].state == NodeStatus::State::kLost);
  CHECK(status.nodes[0].silent_ms == 2000);
  CHECK(status.nodes[0].reason == "closed");
  chronicle.came("h2");
  CHECK(told(chronicle, kBegan + 3s).nodes.front().host == "h3");
  chronicle.sealed(3, 0, 1, 1, kBegan + 4s);
  CHECK(told(chronicle, kBegan + 5s).nodes.empty());
}

TEST_CASE("curves are thinned out over the whole time when there are too many points") {
  JobChronicle chronicle{kBegan};
  TimePoint now = kBegan;
  std::int64_t step = 0;
  for (; now < kBegan + 1h; now += 100ms)
    if (chronicle.wants_point(now)) chronicle.add_point({.step = ++step}, now);
  const JobStatus status = told(chronicle, now);
  CHECK(status.history.size() <= kStatusPointsMax);
  CHECK(status.history.size() > kStatusPointsMax / 4);
  CHECK(status.history.front().step == 1);
  CHECK(status.history.back().unix_ms > 1'000'000 - 60'000);
}

}  // namespace
}  // namespace ddprun
