// How a job has ended, as far as one node's agent knows. Pure.
#pragma once

#include "agent/decisions/agent_end.hpp"
#include "rendezvous/messages/job_outcome.hpp"

namespace ddprun {

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

}  // namespace ddprun
