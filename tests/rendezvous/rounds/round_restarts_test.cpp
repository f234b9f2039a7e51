// What CoordinatorMachine tells of the cost of restarts.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two nodes with one worker each, in round 1. `c` is of a release that does not know such news.
class RestartFixture : public RoundFixture {
 protected:
  RestartFixture() {
    job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3});
    comes("a");
    comes("b");
    both_run(1);
  }
  void comes(const NodeId& node) {
    Join join = join_of(node);
    says(node, join);
  }
  void both_run(int round) {
    for (const NodeId node : {"a", "b"}) says(node, WorkersStarted{round});
  }
  void b_fails(int round, double age_ms) {
    WorkerFailed report = failed(round, 1, {.code = 3});
    report.age_ms = age_ms;
    says("b", report);
  }
  void restarts(int round) {
    passes(100ms);
    says("a", WorkersStopped{round});
    passes(50ms);
    says("b", WorkersStopped{round});
    passes(10ms);
    both_run(round + 1);
  }
};

TEST_CASE_METHOD(RestartFixture, "every node gets the cost of a restart, once there is progress") {
  b_fails(1, 4);
  restarts(1);
  CHECK_FALSE(order<Restarted>("a").has_value());
  passes(900ms);
  says("a", Progress{2, {{.rank = 0, .still_ms = 400, .step = 7}}});
  const auto told = ordered<Restarted>("a");
  RestartTimes times{2, 1, "rank 1 exited with code 3", 4, 150, 0, 10, 500};
  times.first_step_seen = true;
  CHECK(told.times == times);
  CHECK(ordered<Restarted>("b") == told);
  CHECK_FALSE(order<Restarted>("a").has_value());
}

TEST_CASE_METHOD(RestartFixture,
                 "a first step is reported with its own time, whenever it is heard") {
  b_fails(1, 4);
  restarts(1);
  passes(900ms);
  says("a", Progress{2, {{.rank = 0, .step = 90, .first_step = 7, .first_ms = 820}}});
  const auto told = ordered<Restarted>("a");
  CHECK(told.times.first_step_ms == Approx(80));
  CHECK_FALSE(told.times.first_step_seen);
}

TEST_CASE_METHOD(RestartFixture, "what workers had done is heard while their round is stopped") {
  says("a", Progress{1, {{.rank = 0, .step = 5, .first_step = 1, .first_ms = 0}}});
  b_fails(1, 0);
  says("a", Progress{1, {{.rank = 0, .step = 30, .first_step = 1, .first_ms = 0}}});
  restarts(1);
  says("a", Progress{1, {{.rank = 0, .step = 99}}});  // its round is over
  says("a", Progress{2, {{.rank = 0, .step = 21, .first_step = 21, .first_ms = 0}}});
  for (const NodeId node : {"a", "b"}) says(node, WorkersFinished{2});
  CHECK(ordered<JobTimes>("a").goodput.lost_steps == 10);
}

TEST_CASE_METHOD(RestartFixture, "a node that leaves in order gets where the time went so far") {
  b_fails(1, 0);
  restarts(1);
  passes(2s);
  says("b", Leave{"stopped by SIGTERM"});
  const auto times = ordered<JobTimes>("b");
  CHECK(times.goodput.restarts == 1);
  CHECK(times.restarts.size() == 1);
  CHECK_FALSE(order<JobTimes>("a").has_value());
}

TEST_CASE_METHOD(RestartFixture, "a restart is reported without progress after a while") {
  b_fails(1, 0);
  restarts(1);
  passes_beating(RestartClock::kFirstStepPatience + 1s, {"a", "b"});
  CHECK(ordered<Restarted>("a").times.first_step_ms == -1);
}

TEST_CASE_METHOD(RestartFixture, "a restart is reported in time if hangs are not watched, too") {
  now_ += 1h;
  job({.nodes_min = 2, .nodes_max = 2, .restarts_max = 3, .hang_timeout = kHangTimeoutOff});
  for (const NodeId node : {"a", "b"}) comes(node);
  both_run(1);
  b_fails(1, 0);
  for (const NodeId node : {"a", "b"}) says(node, WorkersStopped{1});
  both_run(2);
  REQUIRE(machine_->next_tick() > now_);  // else time would not pass
  passes_beating(RestartClock::kFirstStepPatience, {"a", "b"});
  CHECK(ordered<Restarted>("a").times.first_step_ms == -1);
}

TEST_CASE_METHOD(RestartFixture,
                 "a collective that is done is progress, one that is entered is not") {
  b_fails(1, 0);
  restarts(1);
  says("a", Progress{2, {{.rank = 0, .watched = true, .groups = {{"0", 1, 0}}}}});
  CHECK_FALSE(order<Restarted>("a").has_value());
  says("a", Progress{2, {{.rank = 0, .watched = true, .groups = {{"0", 1, 1}}}}});
  CHECK(order<Restarted>("a").has_value());
}

TEST_CASE_METHOD(RestartFixture, "a lost node is noticed when it has been silent for too long") {
  passes_beating(rules_.terms.heartbeat_timeout, {"a"});
  says("a", WorkersStopped{1});
  comes("c");
  says("a", WorkersStarted{2});
  says("c", WorkersStarted{2});
  says("a", Progress{2, {{.rank = 0, .step = 0}}});
  const auto times = ordered<Restarted>("a").times;
  CHECK(times.reason == "node b lost: silent for 5 s");
  CHECK(times.detected_ms == Approx(5000).margin(1));
}

TEST_CASE_METHOD(RestartFixture, "the end of the job comes with its times") {
  b_fails(1, 0);
  restarts(1);
  passes(4s);
  for (const NodeId node : {"a", "b"}) says(node, WorkersFinished{2});
  CHECK(ordered<Restarted>("b").times.round == 2);
  const auto times = ordered<JobTimes>("b");
  CHECK(times.restarts.size() == 1);
  CHECK(times.goodput.restarts == 1);
  CHECK(times.goodput.wall_s == Approx(4.16));
  CHECK(times.goodput.training_s == Approx(4.0));
  CHECK(times.goodput.restarts_s == Approx(0.16));
  CHECK(ordered<EndJob>("b").outcome == EndJob::Outcome::kFinished);
}

TEST_CASE_METHOD(RestartFixture, "no number of a peer does harm") {
  b_fails(1, 1e300);
  restarts(1);
  for (const std::int64_t step : {INT64_MAX - 1, INT64_MAX})
    says("a",
         Progress{2, {{.rank = 0, .still_ms = INT64_MAX, .paused_ms = INT64_MAX, .step = step}}});
  const auto times = ordered<Restarted>("a").times;
  CHECK(times.detected_ms == Approx(3'600'000));
  CHECK(times.first_step_ms == 0);
}

}  // namespace
}  // namespace ddprun
