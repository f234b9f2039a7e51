#include "launcher/run/run_report.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "agent/reports/failure_report.hpp"
#include "launcher/run/exit_code.hpp"
#include "rendezvous/verdict/causes.hpp"

namespace ddprun {

namespace {

/// Beside the failure that the job ended with stand the other failures of this node.
FailedJob failed_job(const EndJob& job, const std::string& title, const EndFacts& facts) {
  const WorkerFailure first = job.failure.value_or(WorkerFailure{});
  FailedJob failed{title, first, job.restarts + 1, {}, facts.outcome.stopped, facts.verdict};
  for (const WorkerFailure& other : facts.outcome.failures)
    if (other.rank != first.rank) failed.others.push_back(other);
  return failed;
}

/// Whether more is known than a message says.
bool has_report(const EndJob& job, const EndFacts& facts) {
  return job.failure || (is_failure(job.outcome) && facts.verdict);
}

Cause cannot_start(const std::string& sentence, const std::string& node, int exit_code) {
  Cause cause{.kind = FailureKind::kCannotStart, .node = node, .status = {.code = exit_code}};
  cause.sentence = sentence;
  cause.fingerprint = "cannot start";
  return cause;
}

/// Where the coordinator that found the cause is lost, and its successor knows of the failure only.
WorkerEnd end_of(const WorkerFailure& failure) {
  WorkerEnd end{.ranks = std::to_string(failure.rank), .status = failure.status};
  if (failure.status.signal != 0) end.kind = FailureKind::kSignal;
  end.says = failure.message;
  return end;
}

/// What this node knows by itself of a job whose coordinator has not told it the verdict.
std::optional<Cause> own_cause(const AgentEnd& end, const RunFacts& run, const EndFacts& facts) {
  Cause cause;
  switch (outcome_of(end)) {
    case JobOutcome::kFailed:
      if (!end.job.failure) return std::nullopt;
      return cause_of(end_of(*end.job.failure), end.job.failure->host);
    case JobOutcome::kHung:
    case JobOutcome::kStopped:
      if (!facts.hang) return std::nullopt;
      return cause_of(end_of(*facts.hang), "");
    case JobOutcome::kCoordinatorLost:
      cause = {.kind = FailureKind::kNodeLost, .node = run.coordinator.host};
      cause.sentence = "lost the coordinator: " + end.message;
      cause.fingerprint = "coordinator lost";
      return cause;
    case JobOutcome::kRefused:
    case JobOutcome::kNoCoordinator:
      return cannot_start(end.message, run.host, kNoCoordinator);
    default:
      return std::nullopt;
  }
}

std::string sentence_of(const AgentEnd& end, const std::optional<Verdict>& verdict) {
  if (end.why == AgentEnd::Why::kStopSignal) return "stopped by " + signal_name(end.signal);
  if (end.why != AgentEnd::Why::kJobEnded) return end.message;
  if (end.job.outcome == JobOutcome::kFinished) return "every worker exited with code 0";
  if (!end.job.message.empty()) return end.job.message;
  return verdict ? verdict->cause.sentence : "";
}

}  // namespace

JobReport job_report(const AgentEnd& end, const RunFacts& run, const EndFacts& facts) {
  JobReport report{.job = run.run_id, .outcome = outcome_of(end), .exit_code = exit_code(end)};
  const bool well =
      report.outcome == JobOutcome::kFinished || report.outcome == JobOutcome::kPreempted;
  if (!well) {
    if (report.outcome != JobOutcome::kStopped) report.verdict = facts.verdict;
    if (!report.verdict)
      if (auto cause = own_cause(end, run, facts)) report.verdict = Verdict{std::move(*cause)};
    report.hang = facts.hang;
  }
  report.sentence = sentence_of(end, report.verdict);
  if (!facts.times) return report;
  report.restarts = facts.times->restarts;
  report.goodput = facts.times->goodput;
  return report;
}

JobReport job_report(const std::optional<HangReport>& hang, const std::string& run_id) {
  JobReport report{.job = run_id, .outcome = JobOutcome::kRunning};
  report.sentence = hang ? "the workers hang: " + hang->sentence
                         : "the job runs; its workers hung, and have gone on or were started anew";
  report.hang = hang;
  return report;
}

JobReport job_report(const Error& error, const std::string& run_id) {
  JobReport report{.job = run_id, .outcome = JobOutcome::kFailed, .exit_code = exit_code(error)};
  report.sentence = error.message;
  report.verdict = Verdict{cannot_start(error.message, "", report.exit_code)};
  return report;
}

void report_end(const AgentEnd& end, const std::string& title, const EndFacts& facts,
                Console& err) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      if (has_report(end.job, facts))
        err.write_message(failure_report(failed_job(end.job, title, facts)));
      if (end.job.outcome == JobOutcome::kTooFewNodes ||
          (is_failure(end.job.outcome) && !has_report(end.job, facts)))
        spdlog::error("{}{}",
                      end.job.outcome == JobOutcome::kHung
                          ? "the job was stopped because its workers hang: "
                          : "",
                      end.job.message);
      if (end.job.outcome == JobOutcome::kPreempted)
        spdlog::warn("{}: the job has ended to go on later (exit code {})", end.job.message,
                     static_cast<int>(kPreempted));
      return;
    case AgentEnd::Why::kStopSignal:
      spdlog::warn("stopped by {}; no worker of this node is left", signal_name(end.signal));
      return;
    case AgentEnd::Why::kRefused:
      spdlog::error("the coordinator refused this node: {}", end.message);
      return;
    case AgentEnd::Why::kCoordinatorLost:
      spdlog::error("lost the coordinator: {}", end.message);
      return;
    case AgentEnd::Why::kNoCoordinator:
      spdlog::error("{}", end.message);
      return;
  }
}

void hand_up_error_file(const WorkerFailure& failure, const EnvironmentLookup& environment) {
  const auto wanted = environment("TORCHELASTIC_ERROR_FILE");
  if (!wanted || wanted->empty() || failure.error_file.empty()) return;
  std::error_code ignored;  // a copy that fails is no failure of the job
  std::filesystem::copy_file(failure.error_file, *wanted,
                             std::filesystem::copy_options::overwrite_existing, ignored);
}

}  // namespace ddprun
