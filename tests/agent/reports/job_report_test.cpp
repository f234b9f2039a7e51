#include "agent/reports/job_report.hpp"

#include <csignal>
#include <nlohmann/json.hpp>

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
  CHECK(out["goodput"] == json::parse(R"({"wall_s": 100.0, "training_s": 97.0,
      "restarts_s": 1.0, "restarts": 2, "lost_steps": 12, "lost_s": 1.5, "changes": 0,
      "goodput_percent": 95.5})"));
}

TEST_CASE("a report is JSON whatever bytes are in its texts") {
  JobReport report{.job = "\xff\"\n", .sentence = std::string{"\0\x1b", 2}};
  CHECK_NOTHROW(report_of(report));
}

}  // namespace
}  // namespace ddprun
