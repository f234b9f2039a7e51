#include "agent/reports/failure_report.hpp"

#include <algorithm>
#include <csignal>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

FailedJob job() {
  WorkerFailure first{.host = "h2", .rank = 1, .local_rank = 1, .pid = 4711, .status = {.code = 1}};
  first.last_lines = {"KeyError: 'x'"};
  FailedJob failed{"train.py", first, 1, {}, {}, Verdict{}};
  Cause& cause = failed.verdict->cause;
  cause.kind = FailureKind::kException;
  cause.ranks = "1";
  cause.fault = {"KeyError", "'x'", "/home/me/train.py", 88, "load_batch"};
  return failed;
}

/// The report without torchrun's block.
std::string report_of(const FailedJob& failed) {
  const std::string report = failure_report(failed);
  return report.substr(0, report.find("====="));
}

TEST_CASE("the report says what was raised where, what to do, and who followed") {
  FailedJob failed = job();
  failed.verdict->cause.hint = "do this";
  failed.verdict->history = "failed 3 times at train.py:88 with the same KeyError";
  failed.verdict->followers = {
      {.ranks = "0,2", .what = "connection reset", .after_us = 12'400},
      {.ranks = "3-63", .what = "stopped by ddprun", .after_us = 30'000, .stopped_by_us = true}};
  CHECK(report_of(failed) ==
        "ddprun: the job failed: rank 1 (local rank 1 on host h2, pid 4711) exited with code 1\n"
        "  KeyError at train.py:88 in load_batch: 'x'\n"
        "  hint: do this\n"
        "  failed 3 times at train.py:88 with the same KeyError\n"
        "  its last lines:\n"
        "    | KeyError: 'x'\n"
        "  [0,2] connection reset 12 ms after\n"
        "  [3-63] were stopped by ddprun\n");
}

TEST_CASE("ranks that failed alike, and other causes, are named") {
  FailedJob failed = job();
  failed.verdict->cause.ranks = "0-3";
  failed.verdict->also.push_back({.sentence = "rank 7 on h1 exited with code 3"});
  const std::string report = report_of(failed);
  CHECK_THAT(report, contains("  ranks 0-3 failed in the same way\n"));
  CHECK_THAT(report, contains("  also: rank 7 on h1 exited with code 3\n"));
}

TEST_CASE("a node that is lost and a hang have no worker to begin with") {
  FailedJob failed = job();
  failed.verdict->cause.kind = FailureKind::kNodeLost;
  failed.verdict->cause.sentence = "node h2 was lost: silent for 5000 ms";
  failed.verdict->followers = {{.ranks = "0", .what = "connection reset"}};
  CHECK(report_of(failed) ==
        "ddprun: the job failed: node h2 was lost: silent for 5000 ms\n"
        "  [0] connection reset at once\n");
}

TEST_CASE("where no worker failed there is no block of torchrun's") {
  FailedJob failed = job();
  failed.first = {};
  failed.verdict->cause.kind = FailureKind::kHang;
  failed.verdict->cause.sentence = "rank 1 has not come to gloo:all_reduce";
  CHECK(failure_report(failed) ==
        "ddprun: the job was stopped because its workers hang: rank 1 has not come to "
        "gloo:all_reduce\n");
}

TEST_CASE("whatever is to be said has 30 lines at most") {
  FailedJob failed = job();
  failed.attempts = 3;
  failed.first.last_heartbeat = "step 120";
  failed.first.evidence = "out of memory";
  for (int i = 0; i < 20; ++i) {
    failed.first.last_lines.push_back("line");
    failed.first.message += "message\n";
    failed.verdict->followers.push_back({.ranks = std::to_string(i), .what = "broken pipe"});
  }
  failed.verdict->cause.hint = "do this";
  failed.verdict->also.assign(kOtherCausesMax, Cause{.sentence = "more"});
  const std::string report = report_of(failed);
  CHECK(static_cast<std::size_t>(std::ranges::count(report, '\n')) <= kReportLinesMax);
  CHECK_THAT(report, contains("| line\n"));
  CHECK_THAT(report, contains("lines more]"));
}

TEST_CASE("no text of a verdict gives an order to the terminal") {
  FailedJob failed = job();
  const std::string evil = "\x1b]0;owned\a\nddprun: all is well";
  Cause& cause = failed.verdict->cause;
  cause.fault = {evil, evil, evil, 3, evil};
  cause.hint = cause.ranks = cause.node = cause.sentence = evil;
  failed.verdict->history = evil;
  failed.verdict->followers = {{.ranks = evil, .what = evil}};
  failed.verdict->also = {cause};
  const std::string report = report_of(failed);
  CHECK(report.find('\x1b') == std::string::npos);
  CHECK(report.find("\nddprun: all is well") == std::string::npos);
}

}  // namespace
}  // namespace ddprun
