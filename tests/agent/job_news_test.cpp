#include "agent/job_news.hpp"

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;
using Level = NewsLine::Level;
using Lines = std::vector<NewsLine>;

// A node with two workers in a job that may be restarted three times.
class NewsFixture {
 protected:
  explicit NewsFixture(bool tells_job = true) : news_{spec(), {.tells_job = tells_job}} {}
  Lines hears(const CoordinatorMessage& message) { return news_.of(message, now_); }

  TimePoint now_{};

 private:
  static LaunchSpec spec() {
    LaunchSpec spec;
    spec.workers = 2;
    spec.rules.restarts_max = 3;
    return spec;
  }
  JobNews news_;
};

struct SilentNewsFixture : NewsFixture {
  SilentNewsFixture() : NewsFixture{false} {}
};

TEST_CASE_METHOD(NewsFixture, "the first round is told with the ranks of this node") {
  CHECK(hears(StartRound{.round = 1, .first_rank = 2, .world_size = 8}) ==
        Lines{{Level::kInfo, "round 1: ranks 2 to 3 of 8 on this node"}});
}

TEST_CASE_METHOD(NewsFixture, "a restart after a failure is told, a round of other nodes is not") {
  hears(StartRound{.round = 1, .world_size = 4});
  CHECK(hears(StartRound{.round = 2, .attempt = 1, .world_size = 4}).front() ==
        NewsLine{Level::kWarning, "restart 1 of 3: starting 4 workers again"});
  CHECK(hears(StartRound{.round = 3, .attempt = 1, .world_size = 2}).size() == 1);
  CHECK(hears(StartRound{.round = 4, .attempt = 2, .world_size = 2}).size() == 2);
}

TEST_CASE_METHOD(NewsFixture, "a stop is told with its reason and with the time for a checkpoint") {
  CHECK(hears(StopRound{1, "rank 0 failed"}) ==
        Lines{{Level::kWarning, "rank 0 failed: stopping all workers"}});
  CHECK(hears(StopRound{1, "SIGUSR1", 59'001}) ==
        Lines{{Level::kWarning, "SIGUSR1: workers have 60 s for a checkpoint"}});
}

TEST_CASE_METHOD(NewsFixture, "a spare is told what it waits for") {
  CHECK(hears(Spare{2, 4}) ==
        Lines{{Level::kWarning, "round 2 has its 4 nodes: this one waits as a spare"}});
}

TEST_CASE_METHOD(NewsFixture, "a wait is told once it is long, and anew after a round") {
  const Waiting one_of_two{1, 2, 2, 60'000};
  CHECK(hears(one_of_two).empty());
  now_ += 3s;
  CHECK(hears(one_of_two) ==
        Lines{{Level::kWarning, "waiting for nodes: 1 of 2 there; giving up in 60 s"}});
  hears(StartRound{.round = 1});
  CHECK(hears(one_of_two).empty());
}

TEST_CASE_METHOD(SilentNewsFixture, "what every node could tell is a warning of one node only") {
  CHECK(hears(StopRound{1, "why"}).front().level == Level::kInfo);
  CHECK(hears(StartRound{.round = 2, .attempt = 1}).front().level == Level::kInfo);
  CHECK(hears(Spare{2, 4}).front().level == Level::kWarning);
}

TEST_CASE_METHOD(NewsFixture, "what concerns the machine alone is no news") {
  CHECK(hears(Joined{5000}).empty());
  CHECK(hears(Beat{}).empty());
  CHECK(hears(EndJob{}).empty());
  CHECK(hears(Refused{"why"}).empty());
}

}  // namespace
}  // namespace ddprun
