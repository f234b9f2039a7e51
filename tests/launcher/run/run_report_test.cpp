#include "launcher/run/run_report.hpp"

#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>

#include "tests/support/catch.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ddprun {
namespace {

WorkerFailure failure_of(int rank) {
  return {.host = "h0", .rank = rank, .local_rank = rank, .status = {.code = 3 + rank}};
}

std::string report_of(const EndJob& job, const RoundOutcome& outcome) {
  asio::io_context io{1};
  Pipe pipe;
  Console console{io.get_executor(), pipe.writer()};
  const AgentEnd end{.why = AgentEnd::Why::kJobEnded, .job = job};
  const EndFacts facts{outcome};
  report_end(end, job_report(end, {}, facts), facts, "train.py", console);
  io.run();
  return pipe.available();
}

TEST_CASE("the first failure of a job is no other failure of its node") {
  const EndJob job{.outcome = EndJob::Outcome::kFailed, .failure = failure_of(1)};
  CHECK_THAT(report_of(job, {.failures = {failure_of(1)}}), contains("<NO_OTHER_FAILURES>"));
  const std::string two = report_of(job, {.failures = {failure_of(1), failure_of(0)}});
  CHECK_THAT(two, !contains("<NO_OTHER_FAILURES>"));
  CHECK_THAT(two, contains("exitcode  : 3 "));
  CHECK_THAT(two, contains("exitcode  : 4 "));
}

TEST_CASE("torchrun's block comes before what a person reads") {
  const EndJob job{.outcome = EndJob::Outcome::kFailed, .failure = failure_of(1)};
  const std::string report = report_of(job, {});
  CHECK(report.starts_with("===="));
  CHECK_THAT(report, contains("====\nddprun: the job failed: rank 1 on h0 exited with code 4\n"));
}

TEST_CASE("torchrun's block names the worker of the verdict as the root cause") {
  const AgentEnd end{.job = {.outcome = JobOutcome::kFailed, .failure = failure_of(0)}};
  Verdict verdict;
  verdict.cause.ranks = "1";
  verdict.cause.node = "h1";
  verdict.cause.sentence = "rank 1 on h1 exited with code 0 while others still worked";
  EndFacts facts{{.failures = {failure_of(0)}}, {verdict}};
  SECTION("it is of another node") {
    const auto block = torchrun_failures(end, facts, "t.py");
    CHECK(block->root.host == "h1");
    CHECK(block->root.rank == 1);
    CHECK(block->root.pid == kUnknownPid);
    CHECK(block->fault == verdict.cause.sentence);
    CHECK(block->others == std::vector{failure_of(0)});
  }
  SECTION("it has ended well on this node") {
    const WorkerFailure early{.host = "h1", .rank = 1, .local_rank = 1, .pid = 4711};
    facts.outcome.finished = {early};
    CHECK(torchrun_failures(end, facts, "t.py")->root == early);
  }
}

TEST_CASE("torchrun's block is left out where nobody wants it") {
  asio::io_context io{1};
  Pipe pipe;
  Console console{io.get_executor(), pipe.writer()};
  const AgentEnd end{.why = AgentEnd::Why::kJobEnded,
                     .job = {.outcome = JobOutcome::kFailed, .failure = failure_of(1)}};
  EndFacts facts;
  facts.torchrun_block = false;
  report_end(end, job_report(end, {}, facts), facts, "train.py", console);
  io.run();
  CHECK(pipe.available().starts_with("ddprun: the job failed: rank 1"));
}

TEST_CASE("the exception that is known stands in torchrun's block") {
  const AgentEnd end{.job = {.outcome = JobOutcome::kFailed, .failure = failure_of(1)}};
  Verdict verdict;
  verdict.cause.ranks = "1";
  verdict.cause.fault = {.type = "KeyError", .message = "'x'"};
  CHECK(torchrun_failures(end, {{}, {verdict}}, "t.py")->fault == "KeyError: 'x'");
}

TEST_CASE("who waited for nodes in vain is reminded where they had to come") {
  EndJob few{.outcome = JobOutcome::kTooFewNodes};
  few.message = "waited 3 s for nodes: 1 there, 2 needed";
  RunFacts run;
  run.coordinator = {"h1", 29400};
  CHECK(job_report({.job = few}, run, {}).sentence ==
        "waited 3 s for nodes: 1 there, 2 needed; the others were expected at h1:29400");
  CHECK(job_report({.job = few}, {}, {}).sentence == few.message);
}

TEST_CASE("the worker of the cause is shown, with the restarts that it had") {
  Verdict verdict;
  verdict.cause.ranks = "1";
  const AgentEnd end{
      .job = {.outcome = JobOutcome::kFailed, .restarts = 2, .failure = failure_of(1)}};
  EndFacts facts{{}, {verdict}};
  facts.terms.restarts_max = 3;
  const JobReport report = job_report(end, {}, facts);
  CHECK(report.worker == failure_of(1));
  CHECK(report.restarts_used == 2);
  CHECK(report.restarts_max == 3);
  verdict.cause.kind = FailureKind::kHang;
  CHECK_FALSE(job_report(end, {}, {{}, {verdict}}).worker);
}

TEST_CASE("however a job ends, its report has the restarts that it had") {
  EndFacts facts;
  facts.terms.restarts_max = 3;
  facts.job.round = StartRound{.attempt = 1};
  const AgentEnd stopped{.why = AgentEnd::Why::kStopSignal, .signal = SIGTERM};
  CHECK(job_report(stopped, {}, facts).restarts_used == 1);
  CHECK(job_report(stopped, {}, facts).restarts_max == 3);
  const AgentEnd finished{.job = {.outcome = JobOutcome::kFinished, .restarts = 2}};
  CHECK(job_report(finished, {}, facts).restarts_used == 2);
}

TEST_CASE("the log file is shown for a worker that failed, and for one that hung and was stopped") {
  Verdict verdict;
  verdict.cause.ranks = "1";
  AgentEnd end{.job = {.outcome = JobOutcome::kFailed, .failure = failure_of(1)}};
  end.job.failure->log_file = "/logs/1";
  CHECK(job_report(end, {}, {{}, {verdict}}).log_file == "/logs/1");
  verdict.cause.kind = FailureKind::kHang;
  end = {.job = {.outcome = JobOutcome::kHung}};
  const RoundOutcome outcome{.stopped = {{0, "/logs/0"}, {1, "/logs/stopped"}}};
  CHECK(job_report(end, {}, {outcome, {verdict}}).log_file == "/logs/stopped");
  CHECK(job_report(end, {}, {{}, {verdict}}).log_file.empty());
}

TEST_CASE("a hang that is over is shown at the end, also for a job that finished") {
  const AgentEnd end{.job = {.outcome = JobOutcome::kFinished}};
  EndFacts facts;
  facts.job.past_hangs = {{{.missing_ranks = "1"}, 3000}};
  CHECK(job_report(end, {}, facts).past_hangs == facts.job.past_hangs);
}

TEST_CASE("a launcher above gets the record of the first failure, in place of an older one") {
  const ScratchFolder folder;
  const auto own = folder.path() / "own.json";
  const auto above = folder.path() / "above.json";
  std::ofstream{own} << "new";
  std::ofstream{above} << "an older one";
  WorkerFailure failure = failure_of(0);
  failure.error_file = own.string();
  const auto environment = [&](const std::string& name) {
    return name == "TORCHELASTIC_ERROR_FILE" ? std::optional{above.string()} : std::nullopt;
  };
  hand_up_error_file(failure, environment);
  CHECK(content(above) == "new");
}

TEST_CASE("a failure whose verdict is lost with the coordinator is a cause") {
  const EndJob job{.outcome = EndJob::Outcome::kFailed, .failure = failure_of(1)};
  const JobReport report = job_report({.why = AgentEnd::Why::kJobEnded, .job = job}, {}, {});
  REQUIRE(report.verdict);
  CHECK(report.verdict->cause.ranks == "1");
  CHECK(report.verdict->cause.fingerprint == "exited with code 4");
  CHECK(report.sentence == "rank 1 on h0 exited with code 4");
}

TEST_CASE("a job that is stopped while it hangs says both") {
  const HangReport hang{.sentence = "rank 1 has not come", .missing_ranks = "1"};
  const AgentEnd end{.why = AgentEnd::Why::kStopSignal, .signal = 2};
  const JobReport report = job_report(end, {}, {{}, {.hang = hang}});
  CHECK(report.outcome == JobOutcome::kStopped);
  CHECK(report.exit_code == 130);
  REQUIRE(report.verdict);
  CHECK(report.verdict->cause.kind == FailureKind::kHang);
  CHECK(report.verdict->cause.ranks == "1");
}

TEST_CASE("a worker's failure is one, also where a hang has caused it") {
  Verdict verdict;
  verdict.cause.kind = FailureKind::kHang;
  const EndJob job{.outcome = JobOutcome::kFailed, .failure = failure_of(1)};
  const JobReport report = job_report({.job = job}, {}, {{}, {verdict}});
  CHECK(report.outcome == JobOutcome::kFailed);
  CHECK(report.exit_code == 4);
  CHECK(report.verdict->cause.kind == FailureKind::kHang);
}

TEST_CASE("the report of a hang says that the job runs, and when the hang is over, that, too") {
  HangReport hang{.sentence = "rank 1 has not come", .missing_ranks = "1"};
  hang.stacks = {{.ranks = "1", .doing = "sleeps", .stack = "load\tx.py\t3\n"}};
  const JobReport during = job_report(hang, "job");
  CHECK(during.outcome == JobOutcome::kRunning);
  CHECK(during.sentence == "the workers hang: rank 1 has not come");
  CHECK(during.hang == hang);
  CHECK_FALSE(during.verdict);
  const JobReport over = job_report(std::nullopt, "job");
  CHECK(over.outcome == JobOutcome::kRunning);
  CHECK_FALSE(over.hang);
}

}  // namespace
}  // namespace ddprun
