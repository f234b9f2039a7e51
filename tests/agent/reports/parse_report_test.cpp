#include "agent/reports/job_report.hpp"
#include "agent/reports/report_text.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

JobReport full_report() {
  JobReport report{.job = "train", .outcome = JobOutcome::kFailed, .exit_code = 139};
  report.sentence = "the job's own sentence";
  Cause& cause = report.verdict.emplace().cause;
  cause = {.kind = FailureKind::kSignal, .ranks = "1,3-4", .node = "h2", .status = {.signal = 11}};
  cause.fault = {"Segmentation fault", "no", "/t.py", 12, "f"};
  cause.sentence = "rank 1 was killed";
  cause.hint = "do this";
  cause.fingerprint = "Segmentation fault at t.py:12";
  report.verdict->also = {{.ranks = "7", .status = {.code = 3}, .sentence = "rank 7 exited"}};
  report.verdict->followers = {{"0", FailureKind::kExitCode, "connection reset", 12'000, false},
                               {"2", FailureKind::kSignal, "stopped by ddprun", 30'000, true}};
  report.verdict->history = "failed 2 times";
  report.verdict->no_restart = "the same failure 2 times";
  report.worker = WorkerFailure{.host = "h2", .rank = 1, .status = {.signal = 11}};
  report.worker->last_lines = {"one", "two"};
  report.log_file = "/logs/1/stderr.log";
  report.restarts_used = 1;
  report.restarts_max = 2;
  report.restart_budget = "2/1h";
  report.node_note = "without node h2, which is sick";
  report.past_hangs = {{{.sentence = "they hung", .missing_ranks = "2"}, 1500}, {{}, -1}};
  report.restarts = {{2, 1, "node h2 lost", 4, 31, 2, 9, 1900, true}, {.round = 3}};
  report.restarts.back().first_step_seen = report.restarts.back().nobody_lost = true;
  report.goodput = Goodput{100, 97, 1, 2, 12, 1.5, 95.5, 2, 1, true};
  report.changed = SinceGoodRun{
      "2026-11-27T06:13:35Z",
      90,
      {{ChangeKind::kVersion, "torch", "2.10.0", "2.11.0"}, {ChangeKind::kNode, "node", "", "h3"}}};
  return report;
}

JobReport again(const JobReport& report) { return parse_report(to_json(report)).value(); }

TEST_CASE("a report that is read says what was written") {
  const JobReport written = full_report();
  const JobReport read = again(written);
  CHECK(read.verdict == written.verdict);
  CHECK(read.worker == written.worker);
  CHECK(read.past_hangs == written.past_hangs);
  CHECK(read.restarts == written.restarts);
  CHECK(read.goodput == written.goodput);
  CHECK(read.restart_budget == written.restart_budget);
  CHECK(read.node_note == written.node_note);
  CHECK(read.changed == written.changed);
  CHECK(to_json(read) == to_json(written));
  CHECK(explain_text(read) == explain_text(written));
}

TEST_CASE("the times in a report of an older release are read as far as it has them") {
  const auto read = parse_report(R"({"schema": "ddprun.report/1", "outcome": "finished",
      "restarts": [{"round": 2, "from_round": 1, "reason": "why", "in_place": false}],
      "goodput": {"wall_s": 10, "training_s": 8, "restarts_s": 1, "restarts": 1, "lost_steps": 0,
                  "lost_s": 0, "goodput_percent": 80}})");
  REQUIRE(read.has_value());
  CHECK(read->restarts == std::vector{RestartTimes{.round = 2, .from_round = 1, .reason = "why"}});
  CHECK(read->goodput->startup_s == -1);
  CHECK_THAT(explain_text(*read), contains("10.0 s in all, 8.0 s in training, 1.0 s in 1 restart"));
}

TEST_CASE("a hang is read with its stacks") {
  JobReport written{.outcome = JobOutcome::kRunning};
  written.hang = HangReport{.sentence = "rank 1 has not come",
                            .operation = "gloo:all_reduce",
                            .group = "0 (default_pg)",
                            .sequence = 12,
                            .missing_ranks = "1",
                            .waiting_ranks = "0,2-3",
                            .silent_ms = 5000};
  written.hang->stacks = {{.ranks = "1", .doing = "sleeps", .stack = "load\t/t.py\t3\nmain\t\t0"}};
  written.hang->nccl = {"said"};
  CHECK(again(written).hang == written.hang);
}

TEST_CASE("the report of a job that finished is read") {
  const JobReport written{.job = "j", .sentence = "every worker exited with code 0"};
  CHECK(to_json(again(written)) == to_json(written));
}

std::string complaint(std::string_view text) { return parse_report(text).error().message; }

TEST_CASE("what is no report is refused with a sentence") {
  CHECK(complaint("{") == "it is no JSON");
  CHECK_THAT(complaint("[]"), contains("an object was expected"));
  CHECK(complaint("{}") == "its schema is '', and 'ddprun.report/1' was expected");
  const std::string begin = R"({"schema": "ddprun.report/1", "outcome": )";
  CHECK_THAT(complaint(begin + R"("odd"})"), contains("'outcome' is \"odd\", and running or"));
  CHECK_THAT(complaint(begin + R"("failed", "restarts_used": 2.5})"), contains("a whole number"));
  CHECK_THAT(complaint(begin + R"("failed", "changed_since_good_run": {"age_s": 1}})"),
             contains("'when' is missing in 'changed_since_good_run'"));
  CHECK_THAT(complaint(begin + R"("failed", "changed_since_good_run": {"when": "", "age_s": 1,
                                  "changes": [{"kind": "odd"}]}})"),
             contains("'kind' is \"odd\", and file or arguments or"));
  CHECK_THAT(complaint(begin + R"("failed", "cause": []})"), contains("an object was expected"));
  CHECK_THAT(complaint(begin + R"("failed", "cause": {"kind": "hang", "ranks": 3}})"),
             contains("a list was expected"));
}

}  // namespace
}  // namespace ddprun
