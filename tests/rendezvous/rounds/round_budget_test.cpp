// CoordinatorMachine and how often, and how soon, workers are restarted after failures.
#include "tests/rendezvous/rounds/round_fixture.hpp"

namespace ddprun {
namespace {

using namespace std::chrono_literals;

/// Two nodes of a worker each. The worker of b fails in round after round.
class BudgetFixture : public RoundFixture {
 protected:
  void runs(int restarts_max, const RestartPolicy& policy) {
    job({.nodes_min = 2, .nodes_max = 2, .restarts_max = restarts_max, .restarts = policy});
    joins("a");
    joins("b");
    round_ = 1;
  }
  /// It fails with that exception, after the node has told that step; -1: none.
  void fails_with(const std::string& type, std::int64_t step = -1) {
    if (step >= 0) says("b", Progress{round_, {{.rank = 1, .step = step}}});
    WorkerFailed report = failed(round_, 1, {.code = 1});
    report.end.kind = FailureKind::kException;
    report.end.fault = {type, "message", "train.py", 88, "load"};
    says("b", report);
    says("a", WorkersStopped{round_});
    says("b", WorkersStopped{round_});
  }
  /// Whether the next round has begun.
  bool begins() {
    const auto start = order<StartRound>("a");
    const bool begun = start && start->round == round_ + 1;
    if (begun) ++round_;
    return begun;
  }
  bool ends() { return order<EndJob>("a").has_value(); }

  int round_ = 0;
};

TEST_CASE_METHOD(BudgetFixture, "a job that gains steps goes on beyond its restarts@progress") {
  runs(1, {.counted = CountedRestarts::kSinceProgress});
  for (std::int64_t step = 1; step <= 5; ++step) {
    fails_with("KeyError", step);
    CHECK(begins());
  }
  fails_with("KeyError", 5);
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == JobOutcome::kFailed);
  CHECK(end.restarts == 5);
  CHECK(ordered<VerdictFound>("a").verdict.no_restart ==
        "1 in a row gained no step (--max-restarts 1@progress)");
}

TEST_CASE_METHOD(BudgetFixture, "a step that is reported when the workers have ended is progress") {
  runs(1, {.counted = CountedRestarts::kSinceProgress});
  fails_with("KeyError", 1);
  CHECK(begins());
  says("b", failed(round_, 1));
  says("b", WorkersEnded{.round = round_, .step = 2});
  says("a", WorkersStopped{round_});
  says("b", WorkersStopped{round_});
  CHECK(begins());
}

TEST_CASE_METHOD(BudgetFixture, "a rate of restarts is held") {
  runs(2, {.counted = CountedRestarts::kWithinWindow, .window_ms = 60'000});
  for (int i = 0; i < 6; ++i) {
    fails_with("KeyError");
    CHECK(begins());
    passes_beating(31s, {"a", "b"});
  }
  fails_with("KeyError");
  CHECK(begins());
  fails_with("KeyError");
  CHECK(ends());
}

TEST_CASE_METHOD(BudgetFixture,
                 "the same failure ends the job at the limit, another one does not") {
  runs(100, {.same_failure_limit = 3});
  for (const char* const type : {"KeyError", "KeyError", "OSError", "KeyError", "KeyError"}) {
    fails_with(type, 7);
    CHECK(begins());
  }
  fails_with("KeyError", 7);
  const auto end = ordered<EndJob>("a");
  CHECK(end.outcome == JobOutcome::kFailed);
  CHECK(end.restarts == 5);
  const Verdict verdict = ordered<VerdictFound>("a").verdict;
  CHECK(verdict.no_restart == "the same failure 3 times, no step gained (--same-failure-limit 3)");
  CHECK_THAT(verdict.history, contains("no step gained"));
}

TEST_CASE_METHOD(BudgetFixture, "nodes that are lost between do not hide that failures are alike") {
  runs(100, {.same_failure_limit = 2});
  fails_with("KeyError", 7);
  CHECK(begins());
  is_lost("b");
  says("a", WorkersStopped{round_});
  joins("b");
  CHECK(begins());
  fails_with("KeyError", 7);
  CHECK(ends());
}

TEST_CASE_METHOD(BudgetFixture, "the same failure with steps gained between does not end the job") {
  runs(100, {.same_failure_limit = 2});
  for (std::int64_t step = 1; step <= 5; ++step) {
    fails_with("KeyError", step);
    CHECK(begins());
  }
  fails_with("KeyError", 5);
  CHECK(ends());
}

TEST_CASE_METHOD(BudgetFixture,
                 "the next round waits for the pause, and waiting nodes are informed") {
  runs(100, {.delay_min_ms = 0, .delay_max_ms = 60'000});
  fails_with("KeyError", 7);
  CHECK(begins());
  fails_with("KeyError", 7);
  CHECK_FALSE(begins());
  CHECK(ordered<Waiting>("a").pause_ms == 1000);  // at once
  says("a", Beat{});
  CHECK(ordered<Waiting>("a").pause_ms == 1000);
  CHECK(machine_->status(now_, 0).summary.restarts_in_ms == 1000);
  passes(999ms);
  CHECK_FALSE(begins());
  passes(1ms);
  CHECK(begins());
}

TEST_CASE_METHOD(BudgetFixture, "nodes that are lost in the pause are waited for behind it") {
  job({.nodes_min = 2,
       .nodes_max = 2,
       .restarts_max = 9,
       .restarts = {.delay_min_ms = 60'000, .delay_max_ms = 60'000},
       .join_timeout = 20s});
  joins("a");
  joins("b");
  round_ = 1;
  fails_with("KeyError");
  is_lost("b");
  passes_beating(70s, {"a"});
  CHECK_FALSE(ends());
  joins("b");
  CHECK(begins());
}

TEST_CASE_METHOD(BudgetFixture, "a node that is lost in a round costs neither restart nor pause") {
  runs(
      1,
      {.counted = CountedRestarts::kSinceProgress, .delay_min_ms = 60'000, .delay_max_ms = 60'000});
  for (int i = 0; i < 3; ++i) {
    is_lost("b");
    says("a", WorkersStopped{round_});
    joins("b");
    CHECK(begins());
  }
}

TEST_CASE_METHOD(BudgetFixture, "restarts that are left are in the job's status") {
  runs(3, {.counted = CountedRestarts::kSinceProgress});
  fails_with("KeyError", 1);
  CHECK(begins());
  CHECK(machine_->status(now_, 0).restarts_left == 2);
}

TEST_CASE_METHOD(BudgetFixture, "nodes that do not agree on the budget are refused") {
  runs(3, {.counted = CountedRestarts::kSinceProgress});
  Join other = join_of("c");
  other.terms.restarts = {};
  says("c", other);
  CHECK(ordered<Refused>("c").reason ==
        "options differ between the nodes: '--max-restarts=3@progress' at the coordinator, "
        "'--max-restarts=3' on c");
}

}  // namespace
}  // namespace ddprun
