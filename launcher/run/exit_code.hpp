// The table of exit codes, which the documentation quotes.
#pragma once

#include "agent/group_machine.hpp"

namespace ddprun {

// 0        every worker of every node exited 0
// N        the first worker that failed exited with code N
// 128 + S  that worker was killed by signal S, or ddprun was asked to stop by signal S
enum ExitCode : int {
  kUsage = 2,                // the command line makes no sense
  kNoCoordinator = 69,       // the coordinator or a host cannot be reached, was lost, or refuses
  kInternalError = 70,       // a bug in ddprun
  kSystemError = 71,         // the system refused something: a port, a directory
  kTooFewNodes = 75,         // fewer than MIN nodes until the join timeout
  kPreempted = 85,           // the end was announced, with time for a checkpoint: run it again
  kHung = 86,                // the workers hung, and --on-hang has stopped the job
  kProgramNotStarted = 126,  // the program is there and cannot be executed
  kProgramNotFound = 127,    // there is no such program
};

/// The code of a job that has come to its end.
inline int exit_code(const EndJob& job) {
  switch (job.outcome) {
    case EndJob::Outcome::kFinished:
      return 0;
    case EndJob::Outcome::kFailed:
      if (job.hung) return kHung;
      return job.failure ? job.failure->status.shell_code() : kNoCoordinator;
    case EndJob::Outcome::kTimedOut:
      return kTooFewNodes;
    case EndJob::Outcome::kPreempted:
      return kPreempted;
  }
  return kInternalError;
}

/// The code of an agent, however it has ended.
inline int exit_code(const AgentEnd& end) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      return exit_code(end.job);
    case AgentEnd::Why::kStopSignal:
      return 128 + end.signal;
    case AgentEnd::Why::kRefused:
    case AgentEnd::Why::kCoordinatorLost:
    case AgentEnd::Why::kNoCoordinator:
      return kNoCoordinator;
  }
  return kInternalError;
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
