#include "launcher/run/run_report.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <system_error>

#include "agent/reports/report_text.hpp"
#include "base/log.hpp"
#include "base/numbers.hpp"
#include "base/system/left_behind.hpp"
#include "launcher/run/exit_code.hpp"
#include "rendezvous/verdict/causes.hpp"

namespace ddprun {

namespace {

constexpr std::chrono::seconds kCopyTimeout{2};

/// The worker of the cause, if the job ended with its failure.
std::optional<WorkerFailure> worker_of(const EndJob& job, const Verdict& verdict) {
  if (!job.failure || !has_rank(ranks_in(verdict.cause.ranks), job.failure->rank))
    return std::nullopt;
  const bool is_workers =
      verdict.cause.kind != FailureKind::kHang && verdict.cause.kind != FailureKind::kNodeLost;
  return is_workers ? job.failure : std::nullopt;
}

/// The worker that the verdict names, where another one has failed because of it: it has ended well
/// and too early, hangs, or was lost with its node.
WorkerFailure blamed_worker(const Cause& cause, const RoundOutcome& outcome,
                            const WorkerFailure& first) {
  WorkerFailure blamed{.host = cause.node, .rank = ranks_in(cause.ranks).front()};
  blamed.pid = kUnknownPid;
  blamed.time_unix_ms = first.time_unix_ms;
  for (const WorkerFailure& worker : outcome.finished)
    if (worker.rank == blamed.rank) return worker;
  return blamed;
}

/// The first failure is the root cause only where the verdict says so.
void name_cause(TorchrunFailures& failures, const Cause& cause, const RoundOutcome& outcome) {
  const RankList ranks = ranks_in(cause.ranks);
  failures.fault = fault_text(cause.fault);
  if (ranks.empty() || has_rank(ranks, failures.root.rank)) return;
  failures.root = blamed_worker(cause, outcome, failures.root);
  failures.fault = cause.sentence;
}

/// A worker that hangs has not failed: it was stopped.
std::string log_file_of(const JobReport& report, const RoundOutcome& outcome) {
  if (report.worker) return report.worker->log_file;
  const RankList ranks = ranks_in(report.verdict->cause.ranks);
  const auto stopped = ranks.empty() ? outcome.stopped.end() : outcome.stopped.find(ranks.front());
  return stopped == outcome.stopped.end() ? "" : stopped->second;
}

/// A worker of this node that writes to no file writes to where the report goes.
Output output_of(const JobReport& report, const EndFacts& facts) {
  if (!report.worker || !report.worker->log_file.empty()) return Output::kNotShown;
  const bool here = std::ranges::any_of(facts.outcome.failures, [&](const WorkerFailure& failure) {
    return failure.rank == report.worker->rank;
  });
  return here ? Output::kShown : Output::kNotShown;
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
      if (!facts.job.hang) return std::nullopt;
      return cause_of(end_of(*facts.job.hang), "");
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

std::string sentence_of(const AgentEnd& end, const RunFacts& run,
                        const std::optional<Verdict>& verdict) {
  if (end.why == AgentEnd::Why::kStopSignal) return "stopped by " + signal_name(end.signal);
  if (end.why != AgentEnd::Why::kJobEnded) return end.message;
  if (end.job.outcome == JobOutcome::kFinished) return "every worker exited with code 0";
  if (end.job.outcome == JobOutcome::kTooFewNodes && !verdict && !run.coordinator.host.empty())
    return end.job.message + "; the others were expected at " + text_of(run.coordinator);
  if (!end.job.message.empty()) return end.job.message;
  return verdict ? verdict->cause.sentence : "";
}

/// No more is known than the message says.
void say_outcome(const JobReport& report) {
  if (report.outcome == JobOutcome::kHung)
    log::error("the job was stopped because its workers hang: {}", report.sentence);
  else if (report.outcome == JobOutcome::kFailed || report.outcome == JobOutcome::kTooFewNodes)
    log::error("{}", report.sentence);
}

}  // namespace

JobReport job_report(const AgentEnd& end, const RunFacts& run, const EndFacts& facts) {
  JobReport report{.job = run.run_id, .outcome = outcome_of(end), .exit_code = exit_code(end)};
  const bool well =
      report.outcome == JobOutcome::kFinished || report.outcome == JobOutcome::kPreempted;
  if (!well) {
    if (report.outcome != JobOutcome::kStopped) report.verdict = facts.job.verdict;
    if (!report.verdict)
      if (auto cause = own_cause(end, run, facts)) report.verdict = Verdict{std::move(*cause)};
    report.hang = facts.job.hang;
  }
  const auto& round = facts.job.round;
  report.restarts_used = std::max(end.job.restarts, round ? round->attempt : 0);
  report.restarts_max = facts.terms.restarts_max;
  if (facts.terms.restarts.counted != CountedRestarts::kAll)
    report.restart_budget = budget_text(facts.terms.restarts_max, facts.terms.restarts);
  if (report.verdict) {
    report.worker = worker_of(end.job, *report.verdict);
    report.log_file = log_file_of(report, facts.outcome);
  }
  report.past_hangs = facts.job.past_hangs;
  report.continued = facts.job.continued;
  if (round) report.node_note = round->node_note;
  report.sentence = sentence_of(end, run, report.verdict);
  if (!facts.job.times) return report;
  report.restarts = facts.job.times->restarts;
  report.goodput = facts.job.times->goodput;
  return report;
}

JobReport job_report(const std::optional<HangReport>& hang, const std::string& run_id) {
  JobReport report{.job = run_id, .outcome = JobOutcome::kRunning};
  report.sentence = hang ? "the workers hang: " + hang->sentence
                         : "the job runs; its workers hung, and have gone on or were restarted";
  report.hang = hang;
  return report;
}

JobReport job_report(const Error& error, const std::string& run_id) {
  JobReport report{.job = run_id, .outcome = JobOutcome::kFailed, .exit_code = exit_code(error)};
  report.sentence = error.message;
  report.verdict = Verdict{cannot_start(error.message, "", report.exit_code)};
  return report;
}

std::optional<TorchrunFailures> torchrun_failures(const AgentEnd& end, const EndFacts& facts,
                                                  const std::string& title) {
  if (!end.job.failure) return std::nullopt;
  TorchrunFailures failures{.title = title, .root = *end.job.failure};
  if (facts.job.verdict) name_cause(failures, facts.job.verdict->cause, facts.outcome);
  for (const WorkerFailure& other : facts.outcome.failures)
    if (other.rank != failures.root.rank) failures.others.push_back(other);
  return failures;
}

void report_end(const AgentEnd& end, const JobReport& report, const EndFacts& facts,
                const std::string& title, Console& err) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      if (end.job.outcome == JobOutcome::kPreempted)
        log::warn("{}: the job has ended to go on later (exit code {})", end.job.message,
                  static_cast<int>(kPreempted));
      if (!report.verdict) return say_outcome(report);
      if (const auto failures = torchrun_failures(end, facts, title);
          failures && facts.torchrun_block && !err.is_terminal())
        err.write_message(torchrun_block(*failures));
      err.write_message("ddprun: " + report_text(report, output_of(report, facts)));
      return;
    case AgentEnd::Why::kStopSignal:
      log::warn("stopped by {}; no worker of this node is left", signal_name(end.signal));
      return;
    case AgentEnd::Why::kRefused:
      log::error("the coordinator refused this node: {}", end.message);
      return;
    case AgentEnd::Why::kCoordinatorLost:
      log::error("lost the coordinator: {}", end.message);
      return;
    case AgentEnd::Why::kNoCoordinator:
      log::error("{}", end.message);
      return;
  }
}

void hand_up_error_file(const WorkerFailure& failure, const EnvironmentLookup& environment) {
  const auto wanted = environment("TORCHELASTIC_ERROR_FILE");
  if (!wanted || wanted->empty() || failure.error_file.empty()) return;
  // A copy that fails is no failure of the job.
  const std::function<Result<void>()> copy = [from = failure.error_file, to = *wanted] {
    std::error_code ignored;
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing,
                               ignored);
    return Result<void>{};
  };
  LeftBehindQueue disk{1};
  if (const auto copied = disk.answer_within<void>(kCopyTimeout, copy); !copied)
    log::warn("the error file is not copied to {}: {}", *wanted, copied.error().message);
}

}  // namespace ddprun
