#include "agent/reports/job_report.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

#include "agent/reports/report_text.hpp"
#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

using nlohmann::json;

json report_of(const JobReport& report) { return json::parse(to_json(report)); }

TEST_CASE("a job that finished has a report of four fields and a sentence") {
  JobReport report{.job = "nightly", .sentence = "every worker exited with code 0"};
  CHECK(report_of(report) == json{{"schema", "ddprun.report/1"},
                                  {"job", "nightly"},
                                  {"outcome", "finished"},
                                  {"exit_code", 0},
                                  {"sentence", "every worker exited with code 0"}});
}

TEST_CASE("the cause and its followers are written as the schema says") {
  JobReport report{.job = "j", .outcome = JobOutcome::kFailed, .exit_code = 1};
  Cause& cause = report.verdict.emplace().cause;
  cause.kind = FailureKind::kException;
  cause.ranks = "1";
  cause.node = "h2";
  cause.status.code = 1;
  cause.fault = {"KeyError", "'x'", "/t.py", 12, "f"};
  cause.stack = "f\t/t.py\t12\nmain\t/t.py\t20";
  cause.sentence = "rank 1 raised KeyError";
  cause.fingerprint = "KeyError at t.py:12";
  report.verdict->followers = {{.ranks = "0,2-3",
                                .kind = FailureKind::kSignal,
                                .what = "stopped by ddprun",
                                .after_us = 12'100,
                                .stopped_by_us = true}};
  const json out = report_of(report);
  CHECK(out["cause"] == json{{"kind", "exception"},
                             {"ranks", {1}},
                             {"node", "h2"},
                             {"exit_code", 1},
                             {"exception",
                              {{"type", "KeyError"},
                               {"message", "'x'"},
                               {"file", "/t.py"},
                               {"line", 12},
                               {"function", "f"}}},
                             {"sentence", "rank 1 raised KeyError"},
                             {"fingerprint", "KeyError at t.py:12"}});
  CHECK(out["followers"] == json::parse(R"([{"ranks": [0, 2, 3], "kind": "signal",
      "what": "stopped by ddprun", "after_ms": 12.1, "stopped_by_launcher": true}])"));
  CHECK(out["stacks"] == json::parse(R"([{"ranks": [1], "frames": [
      {"function": "f", "file": "/t.py", "line": 12},
      {"function": "main", "file": "/t.py", "line": 20}]}])"));
  CHECK_FALSE(out.contains("hang"));
  CHECK_FALSE(out.contains("also"));
}

TEST_CASE("a signal is written by its name, and then there is no exit code") {
  JobReport report{.outcome = JobOutcome::kFailed, .exit_code = 139};
  report.verdict.emplace().cause.kind = FailureKind::kSignal;
  report.verdict->cause.status.signal = SIGSEGV;
  const json cause = report_of(report)["cause"];
  CHECK(cause["signal"] == "SIGSEGV");
  CHECK_FALSE(cause.contains("exit_code"));
  CHECK_FALSE(cause.contains("exception"));
}

TEST_CASE("a hang has its operation, its ranks and their stacks") {
  JobReport report{.outcome = JobOutcome::kHung, .exit_code = 1};
  report.verdict.emplace().cause.kind = FailureKind::kHang;
  report.verdict->cause.ranks = "1";
  HangReport& hang = report.hang.emplace();
  hang.operation = "gloo:all_reduce";
  hang.missing_ranks = "1";
  hang.waiting_ranks = "0,2";
  hang.silent_ms = 3100;
  hang.stacks = {{.ranks = "1", .stack = "load_batch\tx.py\t12\nno place"}};
  const json out = report_of(report);
  CHECK(out["outcome"] == "hung");
  CHECK(out["cause"]["kind"] == "hang");
  CHECK(out["hang"] == json::parse(R"({"operation": "gloo:all_reduce", "missing_ranks": [1],
      "waiting_ranks": [0, 2], "silent_ms": 3100})"));
  CHECK(out["stacks"] == json::parse(R"([{"ranks": [1], "frames": [
      {"function": "load_batch", "file": "x.py", "line": 12}, {"function": "no place"}]}])"));
}

TEST_CASE("the report of a job that goes on has no exit code") {
  const json out = report_of({.outcome = JobOutcome::kRunning, .hang = HangReport{}});
  CHECK(out["outcome"] == "running");
  CHECK(out.contains("hang"));
  CHECK_FALSE(out.contains("exit_code"));
}

TEST_CASE("the worker of the cause, its restarts and past hangs are written") {
  JobReport report{.outcome = JobOutcome::kFailed, .restarts_used = 1, .restarts_max = 2};
  report.worker = WorkerFailure{.host = "h2", .rank = 1, .log_file = "/logs/stderr.log"};
  report.past_hangs = {{{.sentence = "why", .missing_ranks = "1"}, 1500}};
  const json out = report_of(report);
  CHECK(out["worker"]["log_file"] == "/logs/stderr.log");
  CHECK(out["restarts_used"] == 1);
  CHECK(out["max_restarts"] == 2);
  CHECK(out["past_hangs"] == json::parse(R"([{"sentence": "why", "missing_ranks": [1],
      "waiting_ranks": [], "lasted_ms": 1500}])"));
}

TEST_CASE("restarts and goodput are written if they are known") {
  JobReport report;
  report.restarts = {{2, 1, "node h2 lost", 4, 31, 2, 9, 1900, true},
                     {.round = 3, .reason = "why"}};
  report.goodput = Goodput{100, 97, 1, 2, 12, 1.5, 95.5};
  const json out = report_of(report);
  CHECK(out["restarts"] == json::parse(R"([{"round": 2, "reason": "node h2 lost",
      "from_round": 1, "in_place": true, "awaits_step": false, "detected_ms": 4.0, "stopped_ms": 31.0, "sealed_ms": 2.0,
      "started_ms": 9.0, "first_step_ms": 1900.0},
      {"round": 3, "from_round": 0, "in_place": false, "awaits_step": false, "reason": "why"}])"));
  report.restarts = {{.round = 2, .steps_again = 3, .again_at_least = true}};
  const json restart = report_of(report)["restarts"][0];
  CHECK(restart["steps_again"] == 3);
  CHECK(restart["again_at_least"] == true);
  CHECK(out["goodput"] == json::parse(R"({"wall_s": 100.0, "training_s": 97.0,
      "restarts_s": 1.0, "restarts": 2, "lost_steps": 12, "lost_s": 1.5, "changes": 0,
      "goodput_percent": 95.5})"));
}

TEST_CASE("the checkpoint of each round is written, and how much of it came from disk") {
  JobReport report;
  CHECK_FALSE(report_of(report).contains("continued"));
  report.continued = {{1, "checkpoint-400", 1'000}, {2, "checkpoint-500", 0}};
  CHECK(report_of(report)["continued"] == json::parse(R"([
      {"round": 1, "checkpoint": "checkpoint-400", "bytes_from_disk": 1000},
      {"round": 2, "checkpoint": "checkpoint-500", "bytes_from_disk": 0}])"));
}

TEST_CASE("a report is JSON whatever bytes are in its texts") {
  JobReport report{.job = "\xff\"\n", .sentence = std::string{"\0\x1b", 2}};
  CHECK_NOTHROW(report_of(report));
}

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
  report.restarts.back().steps_again = 3;
  report.restarts.back().again_at_least = true;
  report.continued = {{1, "checkpoint-400", 1'000}, {3, "checkpoint-500", 0}};
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
  CHECK(read.continued == written.continued);
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
