// JobOutcome: how a job has ended. Messages, reports, event logs and statuses say it by one word,
// and it has one exit code.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/exit_code.hpp"

namespace ddprun {

enum class JobOutcome {
  kRunning,  // it has not ended
  // What a coordinator decides, for all nodes.
  kFinished,
  kFailed,
  kHung,
  kTooFewNodes,
  kPreempted,
  // What one node knows of its own part.
  kStopped,
  kRefused,
  kCoordinatorLost,
  kNoCoordinator,
};

struct OutcomeRow {
  JobOutcome value;
  std::string_view name;
  int exit_code;
};

inline constexpr std::array kOutcomes{
    OutcomeRow{JobOutcome::kRunning, "running", 0},
    OutcomeRow{JobOutcome::kFinished, "finished", 0},
    OutcomeRow{JobOutcome::kFailed, "failed", kNoCoordinator},  // unless the failure is known
    OutcomeRow{JobOutcome::kHung, "hung", kHung},
    OutcomeRow{JobOutcome::kTooFewNodes, "too_few_nodes", kTooFewNodes},
    OutcomeRow{JobOutcome::kPreempted, "preempted", kPreempted},
    OutcomeRow{JobOutcome::kStopped, "stopped", 128},  // and the signal's number
    OutcomeRow{JobOutcome::kRefused, "refused", kNoCoordinator},
    OutcomeRow{JobOutcome::kCoordinatorLost, "coordinator_lost", kNoCoordinator},
    OutcomeRow{JobOutcome::kNoCoordinator, "no_coordinator", kNoCoordinator},
};

static_assert([] {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i)
    if (kOutcomes[i].value != static_cast<JobOutcome>(i)) return false;
  return true;
}());

constexpr const OutcomeRow& row_of(JobOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}
constexpr std::string_view name_of(JobOutcome outcome) { return row_of(outcome).name; }

/// Whether workers have failed, or have hung and were stopped because of it.
constexpr bool is_failure(JobOutcome outcome) {
  return outcome == JobOutcome::kFailed || outcome == JobOutcome::kHung;
}

}  // namespace ddprun
