// AgentMachine of a newcomer, in a job whose coordinator may be at several places.
#include <algorithm>

#include "tests/agent/decisions/agent_fixture.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

class NewcomerFixture : protected MachineFixture {
 protected:
  NewcomerFixture()
      : MachineFixture{{.workers = 1,
                        .terms = {.join_timeout = 60s},
                        .rejoin = true,
                        .endpoint = "h0:1",
                        .places = {"h0:1", "h1:1", "h2:1"}}} {
    now_ += 1h;
    step(AgentBegins{});
  }
  /// Where it looks now; "": nowhere.
  std::string looks_at() {
    const auto wish = took<ReachCoordinator>();
    pause_ = wish ? wish->pause : 0ms;
    return wish ? wish->at : "";
  }
  void nobody_listens(const std::string& at) {
    step(CoordinatorUnreachable{"cannot reach the coordinator at " + at, true});
  }
  void is_answered(const CoordinatorMessage& message) {
    step(Connected{now_});
    step(Ordered{message});
  }
  void joins_and_runs(std::int64_t epoch) {
    is_answered(Joined{.heartbeat_timeout_ms = 5'000, .clock_us = 1, .epoch = epoch});
    step(Ordered{StartRound{.round = 4, .group_world_size = 3, .epoch = epoch, .lease_ms = 4'000}});
  }

  std::chrono::milliseconds pause_{};
};

TEST_CASE_METHOD(NewcomerFixture, "the places are tried in turn, with a pause after the last one") {
  for (const char* place : {"h0:1", "h1:1", "h2:1"}) {
    CHECK(looks_at() == place);
    CHECK(pause_ == 0ms);
    nobody_listens(place);
  }
  CHECK(looks_at() == "h0:1");
  CHECK(pause_ > 0ms);
}

TEST_CASE_METHOD(NewcomerFixture, "the coordinator is joined wherever it is, and told of once") {
  nobody_listens("h0:1");
  CHECK(looks_at() == "h1:1");
  joins_and_runs(2);
  CHECK(took<StartWorkers>().has_value());
  CHECK(took<Warn>()->text == "the coordinator is at h1:1 now");
  CHECK(took<TellStandby>()->leader == Leader{2, "h1:1"});
}

TEST_CASE_METHOD(NewcomerFixture, "at the first place there is nothing to tell the user") {
  joins_and_runs(1);
  CHECK_FALSE(took<Warn>().has_value());
}

TEST_CASE_METHOD(NewcomerFixture, "who coordinates nothing is left soon: a newcomer has no vote") {
  looks_at();
  is_answered(Candidate{1});
  passes(150ms);
  CHECK(looks_at().empty());
  passes(100ms);
  CHECK(looks_at() == "h1:1");
}

TEST_CASE_METHOD(NewcomerFixture,
                 "a newcomer that knows where the coordinator is looks there first") {
  looks_at();
  is_answered(Redirect{"h7:1", 2});
  CHECK(looks_at() == "h7:1");
  nobody_listens("h7:1");
  CHECK(looks_at() == "h1:1");
}

TEST_CASE_METHOD(NewcomerFixture, "two whose news are old send nobody to and fro") {
  looks_at();
  is_answered(Redirect{"h7:1", 2});
  looks_at();
  is_answered(Redirect{"h0:1", 2});
  CHECK(looks_at() == "h1:1");
}

TEST_CASE_METHOD(NewcomerFixture,
                 "another job at a place is passed by, and other refusals are final") {
  looks_at();
  is_answered(Refused{"this is the coordinator of another job", true});
  CHECK(looks_at() == "h1:1");
  CHECK_FALSE(took<Exit>().has_value());
  is_answered(Refused{"options differ between the nodes"});
  const auto end = took<Exit>();
  REQUIRE(end.has_value());
  CHECK(end->end.why == AgentEnd::Why::kRefused);
  CHECK(end->end.message == "options differ between the nodes");
}

TEST_CASE_METHOD(NewcomerFixture, "who finds nobody says after a while what is at which place") {
  nobody_listens("h0:1");
  is_answered(Candidate{1});
  passes(200ms);
  nobody_listens("h2:1");
  CHECK_FALSE(took<Warn>().has_value());
  passes(2s);
  nobody_listens("h0:1");
  CHECK(took<Warn>()->text ==
        "nobody coordinates the job: cannot reach the coordinator at h0:1; the agent at h1:1 "
        "coordinates nothing; cannot reach the coordinator at h2:1; giving up in 58 s");
}

TEST_CASE_METHOD(NewcomerFixture, "who finds nobody for the join timeout ends with what it found") {
  nobody_listens("h0:1");
  now_ += 61s;
  nobody_listens("h1:1");
  const auto end = took<Exit>();
  REQUIRE(end.has_value());
  CHECK(end->end.why == AgentEnd::Why::kNoCoordinator);
  CHECK(end->end.message ==
        "nobody coordinates the job: cannot reach the coordinator at h0:1; cannot reach the "
        "coordinator at h1:1");
}

TEST_CASE_METHOD(NewcomerFixture,
                 "what stands by hears when the coordinator is lost, and not before") {
  joins_and_runs(2);
  took<TellStandby>();
  step(CoordinatorLost{"connection closed"});
  CHECK(took<TellStandby>()->leader == Leader{2, ""});
}

TEST_CASE_METHOD(NewcomerFixture,
                 "a node of a round that has lost all it knows tries the places, too") {
  joins_and_runs(2);  // at h0, which is all it knows of
  step(CoordinatorLost{"connection closed"});
  step(CoordinatorUnreachable{"no process listens", true});
  step(WorkerExited{WorkerFailure{.status = {.signal = 15}}});
  step(TreeGone{});
  CHECK(looks_at() == "h0:1");
  nobody_listens("h0:1");
  CHECK(looks_at() == "h1:1");
}

}  // namespace
}  // namespace ddprun
