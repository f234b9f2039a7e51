// The messages by which a job ends, and those about its end. Each is one of messages.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/failure.hpp"
#include "rendezvous/messages/job_outcome.hpp"
#include "rendezvous/messages/job_times.hpp"
#include "rendezvous/messages/verdict.hpp"

namespace ddprun {

// --- coordinator to agent ---

/// The job is over. The agent prints why, and its exit code follows from the outcome.
struct EndJob {
  using Outcome = JobOutcome;
  Outcome outcome = Outcome::kFinished;  // one that a coordinator decides
  int restarts = 0;                      // failure restarts that were made
  std::string message;  // kTooFewNodes: how many came and how many were needed; kPreempted: why;
                        // kHung: who hangs; kFailed: why there is no failure
  std::optional<WorkerFailure> failure;  // kFailed: the first failure of the last attempt; not
                                         // there when the coordinator that heard of it is gone
  /// The agent is to answer with EndAcknowledged, and to stay until it gets Dismiss: as long as
  /// some may not have heard of the end, the others can inform the next coordinator.
  bool held = false;
  bool operator==(const EndJob&) const = default;
};
/// Why the job has failed. It comes before EndJob.
struct VerdictFound {
  Verdict verdict;
  bool operator==(const VerdictFound&) const = default;
};
/// A restart is over. The agent prints what it cost.
struct Restarted {
  RestartTimes times;
  bool operator==(const Restarted&) const = default;
};
/// Where the time of the job went. It comes right before EndJob.
struct JobTimes {
  std::vector<RestartTimes> restarts;  // the last ones
  Goodput goodput;
  bool operator==(const JobTimes&) const = default;
};
/// All have heard that the job is over.
struct Dismiss {
  bool operator==(const Dismiss&) const = default;
};

// --- agent to coordinator ---

/// The answer to an EndJob that is held.
struct EndAcknowledged {
  bool operator==(const EndAcknowledged&) const = default;
};
/// To a possible successor of a coordinator that is lost: that one had ended the job.
struct FinalStatus {
  EndJob end;
  bool operator==(const FinalStatus&) const = default;
};

}  // namespace ddprun
