#include "agent/reports/report_text.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace ddprun {
namespace {

JobReport job() {
  JobReport report{.job = "train", .outcome = JobOutcome::kFailed, .exit_code = 1};
  Cause& cause = report.verdict.emplace().cause;
  cause.kind = FailureKind::kException;
  cause.ranks = "1";
  cause.status.code = 1;
  cause.fault = {"KeyError", "'x'", "/home/me/train.py", 88, "load_batch"};
  cause.sentence = "rank 1 on h2 raised KeyError at train.py:88 in load_batch: 'x'";
  report.sentence = cause.sentence;
  report.worker =
      WorkerFailure{.host = "h2", .rank = 1, .local_rank = 1, .pid = 4711, .status = {.code = 1}};
  report.worker->last_lines = {"Traceback", "KeyError: 'x'"};
  return report;
}

/// A worker of which no exception is known.
JobReport job_with_code(int code) {
  JobReport report = job();
  Cause& cause = report.verdict->cause;
  cause.kind = FailureKind::kExitCode;
  cause.fault = {};
  cause.sentence = "rank 1 on h2 exited with code " + std::to_string(code);
  report.sentence = cause.sentence;
  report.worker->status.code = code;
  return report;
}

std::string shown(const JobReport& report) { return report_text(report, Output::kShown); }

TEST_CASE("the report begins with what was raised where, and ends with what to do") {
  JobReport report = job();
  report.verdict->cause.hint = "do this";
  report.verdict->history = "failed 3 times at train.py:88 with the same KeyError";
  report.verdict->followers = {
      {.ranks = "0,2", .what = "connection reset", .after_us = 12'400},
      {.ranks = "3-63", .what = "stopped by ddprun", .after_us = 30'000, .stopped_by_us = true}};
  report.restarts_used = 2;
  report.restarts_max = 2;
  report.worker->last_heartbeat = "step 120, loss 0.31, 0.4 s before";
  report.log_file = "/logs/attempt_2/1/stderr.log";
  CHECK(shown(report) ==
        "the job failed: rank 1 on h2 raised KeyError at train.py:88 in load_batch: 'x'\n"
        "  process: local rank 1, pid 4711, exited with code 1\n"
        "  last heartbeat: step 120, loss 0.31, 0.4 s before\n"
        "  then: ranks 0,2: connection reset, 12 ms later; ranks 3-63: stopped by ddprun\n"
        "  restarts: 2 of 2; it failed 3 times at train.py:88 with the same KeyError\n"
        "  help: do this\n"
        "  log: /logs/attempt_2/1/stderr.log\n");
}

TEST_CASE("restarts of a budget that is no plain number are shown with it, and why there is none") {
  JobReport report = job();
  report.verdict->no_restart = "there were 2 within 1h (--max-restarts 2/1h)";
  report.restarts_used = 7;
  report.restarts_max = 2;
  report.restart_budget = "2/1h";
  CHECK_THAT(shown(report),
             contains("  restarts: 7 (--max-restarts 2/1h)\n"
                      "  no further restart: there were 2 within 1h (--max-restarts 2/1h)\n"));
}

TEST_CASE("the output of a worker is repeated only where nobody has seen it, or knows better") {
  CHECK_THAT(shown(job()), !contains("last lines"));
  CHECK_THAT(report_text(job(), Output::kNotShown),
             contains("  its last lines:\n    | Traceback\n    | KeyError: 'x'\n"));
  CHECK_THAT(shown(job_with_code(3)), contains("  its last lines:\n    | Traceback\n"));
}

TEST_CASE("a last line that stands in the headline is not said twice") {
  JobReport report = job_with_code(3);
  report.verdict->cause.sentence += ": no space left";
  report.worker->last_lines = {"no space left"};
  CHECK_THAT(shown(report), !contains("last lines"));
}

TEST_CASE("all modules' names and the stack of C are left out, and a long line is cut") {
  JobReport report = job_with_code(3);
  report.worker->last_lines = {std::string(5000, 'x'),
                               "  Binary file \"/usr/bin/python3.14\", at Py_RunMain+0x7 [0x6f]",
                               "Extension modules: numpy (total: 30)"};
  const std::string text = shown(report);
  CHECK_THAT(text, !contains("Py_RunMain"));
  CHECK_THAT(text, !contains("numpy"));
  CHECK(text.size() < 1000);
}

TEST_CASE("the report says if a worker wrote nothing") {
  JobReport report = job_with_code(3);
  report.worker->last_lines.clear();
  CHECK_THAT(shown(report), contains("it wrote nothing to its output (sys.exit or os._exit?)"));
}

TEST_CASE("ranks that failed alike, and other causes, are named") {
  JobReport report = job();
  report.verdict->cause.ranks = "0-3";
  report.verdict->also.push_back({.sentence = "rank 7 on h1 exited with code 3"});
  CHECK_THAT(shown(report), contains("  first: rank 1, local rank 1, pid 4711, exited with"));
  CHECK_THAT(shown(report), contains("  also: rank 7 on h1 exited with code 3\n"));
}

TEST_CASE("a node that is lost and a hang have no worker to tell of") {
  JobReport report = job();
  report.worker.reset();
  report.outcome = JobOutcome::kTooFewNodes;
  report.verdict->cause.kind = FailureKind::kNodeLost;
  report.verdict->cause.sentence = "node h2 was lost: silent for 5 s";
  report.verdict->followers = {{.ranks = "0", .what = "connection reset"}};
  report.sentence = "waited 4 s for nodes: 1 there, 2 needed";
  CHECK(shown(report) ==
        "the job failed: node h2 was lost: silent for 5 s\n"
        "  waited 4 s for nodes: 1 there, 2 needed\n"
        "  then: rank 0: connection reset, at once\n");
  report.outcome = JobOutcome::kHung;
  report.verdict->cause.sentence = report.sentence = "rank 1 has not reached gloo:all_reduce";
  report.verdict->followers.clear();
  CHECK(shown(report) ==
        "the job was stopped because its workers hang: rank 1 has not reached gloo:all_reduce\n");
  report.verdict->cause.kind = FailureKind::kHang;
  report.hang = HangReport{.missing_ranks = "1",
                           .stacks = {{.ranks = "1", .doing = "sleeps at main (bug.py:33)"},
                                      {.ranks = "0", .doing = "waits in gloo:all_reduce"}}};
  CHECK(shown(report) ==
        "the job was stopped because its workers hang: rank 1 has not reached gloo:all_reduce\n"
        "  where: rank 1: sleeps at main (bug.py:33)\n");
}

TEST_CASE("all followers are in one line") {
  JobReport report = job();
  for (int rank = 2; rank < 10; ++rank)
    report.verdict->followers.push_back({.ranks = std::to_string(rank), .what = "broken pipe"});
  CHECK_THAT(shown(report), contains("rank 5: broken pipe, at once; 4 more\n"));
}

/// All that a report can tell.
JobReport whole() {
  JobReport report = job_with_code(3);
  report.restarts_used = report.restarts_max = 3;
  report.sentence = "the job's own sentence";
  WorkerFailure& worker = *report.worker;
  worker.last_heartbeat = "step 120";
  worker.evidence = "out of memory";
  report.log_file = "/logs/1/stderr.log";
  for (int i = 0; i < 20; ++i) {
    worker.last_lines.push_back("line");
    worker.message += "message\n";
    report.verdict->followers.push_back({.ranks = std::to_string(i), .what = "broken pipe"});
  }
  report.verdict->cause.hint = "do this";
  report.verdict->history = "failed 4 times";
  report.verdict->also.assign(kOtherCausesMax, Cause{.sentence = "more"});
  report.changed =
      SinceGoodRun{.age_s = 60, .changes = {{ChangeKind::kVersion, "torch", "2.10.0", "2.11.0"}}};
  report.continued = {{1, "checkpoint-400", 0}, {2, "checkpoint-500", 0}};
  return report;
}

TEST_CASE("whatever is to be said fits one screen") {
  const std::string text = report_text(whole(), Output::kNotShown);
  CHECK(static_cast<std::size_t>(std::ranges::count(text, '\n')) <= kReportLinesMax);
  CHECK_THAT(text, contains("| line\n"));
  CHECK_THAT(text, contains("help: do this\n"));
  CHECK_THAT(text, contains("since it worked, 1 minute before: torch 2.10.0 \u2192 2.11.0\n"));
}

TEST_CASE("no text of a report gives an order to the terminal, or begins a line of its own") {
  const std::string evil = "\x1b]0;owned\a\nddprun: all is well";
  JobReport report = whole();
  Cause& cause = report.verdict->cause;
  cause.fault = {evil, evil, evil, 3, evil};
  cause.hint = cause.ranks = cause.node = cause.sentence = report.verdict->history = evil;
  report.verdict->followers = {{.ranks = evil, .what = evil}};
  report.verdict->also = {cause};
  WorkerFailure& worker = *report.worker;
  worker.host = worker.evidence = worker.message = worker.last_heartbeat = report.log_file = evil;
  worker.last_lines = {evil};
  report.changed = SinceGoodRun{.when = evil,
                                .changes = {{ChangeKind::kVariable, evil, evil, evil},
                                            {ChangeKind::kFile, evil, evil, evil},
                                            {ChangeKind::kNode, evil, "", evil}}};
  report.continued = {{1, evil, 0}, {2, evil, 0}};
  report.hang = HangReport{.sentence = evil, .stacks = {{.ranks = evil, .doing = evil}}};
  const std::string text = report_text(report, Output::kNotShown) + explain_text(report);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\a') == std::string::npos);
  CHECK(text.find("\nddprun: all is well") == std::string::npos);
}

TEST_CASE("a report that is explained tells its hang and its restarts, too") {
  JobReport report = job();
  report.past_hangs = {{{.sentence = "rank 1 has not reached gloo:all_reduce"}, 12'000},
                       {{.sentence = "rank 0 has not reached gloo:all_reduce"}, -1}};
  report.restarts = {{2, 1, "node h2 lost", 4, 31, 2, 9, 1900}};
  report.goodput = Goodput{100, 97, 1, 2, 12, 1.5, 95.5};
  const std::string text = explain_text(report);
  CHECK(text.starts_with("the job failed: rank 1 on h2 raised KeyError"));
  CHECK_THAT(text,
             contains("before: rank 1 has not reached gloo:all_reduce; they went on after 12 s\n"));
  CHECK_THAT(text,
             contains("before: rank 0 has not reached gloo:all_reduce; then a new round began\n"));
  CHECK_THAT(text, contains("round 1 \u2192 2 (node h2 lost): noticed 4.0 ms"));
  CHECK_THAT(text, contains("goodput 95.5 %\n"));
}

TEST_CASE("a failure's report says from which checkpoint the last round continued") {
  JobReport report = job();
  report.restarts_used = report.restarts_max = 2;
  report.restarts = {{.round = 2, .steps_again = 40},
                     {.round = 3, .steps_again = 3, .again_at_least = true}};
  report.continued = {{1, "checkpoint-300", std::int64_t{3} << 29},
                      {2, "checkpoint-400", 0},
                      {3, "checkpoint-500", 0}};
  const std::string last =
      "  round 3 continued from checkpoint-500, from memory: at least 3 steps done again\n";
  CHECK_THAT(shown(report), contains("  restarts: 2 of 2\n" + last));
  CHECK_THAT(shown(report), !contains("checkpoint-400"));
  const std::string explained = explain_text(report);
  CHECK_THAT(explained, contains(last));
  CHECK_THAT(explained, contains("\nround 1 continued from checkpoint-300, with 1.5 GiB from disk\n"
                                 "round 2 continued from checkpoint-400, from memory: 40 steps "
                                 "done again\n"));
  CHECK_THAT(explained, !contains("\nround 3 continued"));
}

TEST_CASE("of a job that has finished, all its checkpoints are explained") {
  const JobReport report{.continued = {{2, "checkpoint-400", 0}}};
  CHECK_THAT(explain_text(report),
             contains("\nround 2 continued from checkpoint-400, from memory\n"));
}

TEST_CASE("the report of a job that hangs explains the hang") {
  JobReport report{.outcome = JobOutcome::kRunning, .sentence = "the workers hang: why"};
  report.hang = HangReport{.sentence = "why", .stacks = {{.ranks = "1", .doing = "sleeps"}}};
  CHECK(explain_text(report) == "the workers hang: why\n  [1] sleeps\n");
}

TEST_CASE("a job that has finished is explained in one line") {
  CHECK(explain_text({.sentence = "every worker exited with code 0"}) ==
        "the job finished: every worker exited with code 0\n");
}

}  // namespace
}  // namespace ddprun
