#include "launcher/run/run_report.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>

#include "agent/failure_report.hpp"
#include "launcher/run/exit_code.hpp"

namespace ddprun {

namespace {

/// The first failure is the job's. Beside it stand the other failures of this node.
FailedJob failed_job(const EndJob& job, const std::string& title, const RoundOutcome& outcome) {
  FailedJob failed{title, *job.failure, job.restarts + 1, {}, outcome.stopped};
  for (const WorkerFailure& other : outcome.failures)
    if (other.rank != job.failure->rank) failed.others.push_back(other);
  return failed;
}

}  // namespace

void report_end(const AgentEnd& end, const std::string& title, const RoundOutcome& outcome,
                Console& err) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      if (end.job.failure) err.write_message(failure_report(failed_job(end.job, title, outcome)));
      if (end.job.outcome == EndJob::Outcome::kTimedOut ||
          (end.job.outcome == EndJob::Outcome::kFailed && !end.job.failure))
        spdlog::error("{}{}", end.job.hung ? "the job was stopped because its workers hang: " : "",
                      end.job.message);
      if (end.job.outcome == EndJob::Outcome::kPreempted)
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
