// The exit code that a run ends with: 0, one of base/exit_code.hpp, the code of the first worker
// that failed, or 128 + the signal that killed that worker or has stopped ddprun.
#pragma once

#include "agent/decisions/agent_end.hpp"
#include "base/exit_code.hpp"
#include "base/result.hpp"

namespace ddprun {

/// The code of an agent, however it has ended.
inline int exit_code(const AgentEnd& end) {
  const JobOutcome outcome = outcome_of(end);
  if (outcome == JobOutcome::kFailed && end.job.failure)
    return end.job.failure->status.shell_code();
  return row_of(outcome).exit_code + (outcome == JobOutcome::kStopped ? end.signal : 0);
}

/// The code of a job that could not begin.
inline int exit_code(const Error& error) {
  switch (error.kind) {
    case Error::Kind::kNotFound:
      return kProgramNotFound;
    case Error::Kind::kDenied:
      return kProgramNotStarted;
    case Error::Kind::kUnavailable:
    case Error::Kind::kTimeout:
      return kSystemError;
    case Error::Kind::kInvalid:
      return kUsage;
  }
  return kInternalError;
}

}  // namespace ddprun
