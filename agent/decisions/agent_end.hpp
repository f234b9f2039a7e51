// How workers of this node end, and why its agent does. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/failure.hpp"
#include "rendezvous/messages/end_messages.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

/// Why the agent ends.
struct AgentEnd {
  enum class Why { kJobEnded, kStopSignal, kRefused, kCoordinatorLost, kNoCoordinator };
  Why why = Why::kJobEnded;
  EndJob job;           // kJobEnded
  int signal = 0;       // kStopSignal: the first one that came
  std::string message;  // kRefused, kCoordinatorLost, kNoCoordinator: it has never been there
};

/// How the job has ended, as far as this node's agent knows.
inline JobOutcome outcome_of(const AgentEnd& end) {
  switch (end.why) {
    case AgentEnd::Why::kJobEnded:
      return end.job.outcome;
    case AgentEnd::Why::kStopSignal:
      return JobOutcome::kStopped;
    case AgentEnd::Why::kRefused:
      return JobOutcome::kRefused;
    case AgentEnd::Why::kCoordinatorLost:
      return JobOutcome::kCoordinatorLost;
    case AgentEnd::Why::kNoCoordinator:
      return JobOutcome::kNoCoordinator;
  }
  return JobOutcome::kRunning;
}

/// A worker has ended, perhaps well, and its output has been read.
struct WorkerExited {
  WorkerFailure how;
  WorkerEnd end = {};
  std::int64_t step = -1;  // its last heartbeat says it; -1: none does
};

/// How this node's workers ended in the last round.
struct RoundOutcome {
  std::vector<WorkerFailure> failures;  // workers that failed by themselves, in their order
  std::vector<WorkerFailure> finished;  // workers that ended well by themselves, as the former
  /// global ranks that ended after a request to stop, and the files with their output
  std::map<int, std::string> stopped;
  std::vector<WorkerEnd> ends;  // ends of all workers, by this machine's clock
  std::int64_t step = -1;       // the greatest one that a worker reported; -1: none
};

}  // namespace ddprun
